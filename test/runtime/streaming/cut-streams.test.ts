import type { ServerResponse } from 'node:http';

import { type AgentResult, createRuntime, type Runtime, type RuntimeError, type Tool } from '../../../runtime';
import { createMemoryLedger } from '../../../runtime/testing';
import { sendJson, startServer, type TestServer } from '../../support/servers/http-server';
import { type ModelServerRequest, textReply } from '../../support/servers/model-server';
import { memoryTenants, TENANT_ID } from '../../support/values/memory-stores';
import { fc } from '../../support/values/properties';

const RUNS = Number(process.env.PROPERTY_RUNS ?? 200);

interface Call {
  readonly name: string;
  readonly input: { readonly city: string };
}

/** One model reply as a stream, and how it is sent. */
interface Case {
  readonly text: string;
  readonly calls: readonly Call[];
  readonly hasOneIndex: boolean;
  readonly usageFirst: boolean;
  readonly pieceLength: number;
  /** Share of the bytes that are sent. */
  readonly sent: number;
}

const CASES = fc.record({
  text: fc.oneof(fc.constant(''), fc.string({ minLength: 1, maxLength: 60 })),
  calls: fc.array(
    fc.record({
      name: fc.constantFrom('weather', 'forecast'),
      input: fc.record({ city: fc.string({ maxLength: 20 }) }),
    }),
    { maxLength: 3 },
  ),
  hasOneIndex: fc.boolean(),
  usageFirst: fc.boolean(),
  pieceLength: fc.integer({ min: 1, max: 30 }),
  sent: fc.double({ min: 0, max: 1, noNaN: true }),
});

const chunk = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;
const delta = (fields: object, finish: string | null = null): string =>
  chunk({ choices: [{ index: 0, delta: fields, finish_reason: finish }] });
const USAGE = chunk({ choices: [], usage: { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 } });

function pieces(text: string, length: number): readonly string[] {
  return Array.from({ length: Math.ceil(text.length / length) }, (_, at) => text.slice(at * length, (at + 1) * length));
}

/** The stream up to its finish reason, and what follows. */
function streamOf({ text, calls, hasOneIndex, usageFirst, pieceLength }: Case): readonly [string, string] {
  const heads = calls.map(({ name, input }, at) => {
    const index = hasOneIndex ? 0 : at;
    const [head, ...rest] = pieces(JSON.stringify(input), pieceLength).map((args) => ({ arguments: args }));
    const first = { index, id: `call-${at}`, type: 'function', function: { name, ...head } };
    return [first, ...rest.map((fn) => ({ index, function: fn }))]
      .map((call) => delta({ tool_calls: [call] }))
      .join('');
  });
  const content = pieces(text, pieceLength).map((piece) => delta({ content: piece }));
  const body = [usageFirst ? USAGE : '', ...content, ...heads].join('');
  return [body, delta({}, calls.length > 0 ? 'tool_calls' : 'stop') + (usageFirst ? '' : USAGE) + 'data: [DONE]\n\n'];
}

type Answer = (response: ServerResponse) => void;

let models: TestServer;
let runtime: Runtime;
let tasks = 0;
const executed = new Map<string, string[]>();
/** Answers to the first request of each task. */
const answers = new Map<string, Answer>();

const tool = (name: string): Tool => ({
  definition: { name, description: name, inputSchema: { type: 'object' } },
  parseInput: (value) => ({ ok: true, value }),
  execute: (input, { meta }) => {
    const before = executed.get(meta.task_id) ?? [];
    executed.set(meta.task_id, [...before, `${name} ${JSON.stringify(input)}`]);
    return Promise.resolve({ isError: false, value: 'fine' });
  },
});

beforeAll(async () => {
  models = await startServer(({ body }, response) => {
    const { messages } = JSON.parse(body) as ModelServerRequest;
    const task = messages.find(({ role }) => role === 'user')?.content ?? '';
    const answer = answers.get(task);
    // A cancelled run may still have a request on its way.
    answers.delete(task);
    if (answer !== undefined) answer(response);
    else sendJson(response, textReply('Done', { prompt: 0, completion: 0 }).body);
  });
  runtime = createRuntime({
    model: { apiKey: 'sk-cut', baseUrl: `${models.url}/v1`, maxRetries: 0 },
    plugins: {
      tenants: memoryTenants([]),
      ledger: createMemoryLedger(),
      tools: [tool('weather'), tool('forecast')],
    },
  });
});
afterAll(() => Promise.all([runtime.close(), models.close()]));

interface Outcome {
  readonly shown: string;
  readonly executed: readonly string[];
  readonly tokens: number;
  readonly unknown: number;
  readonly estimated: number;
}

async function outcomeOf(answer: Answer, signal = new AbortController().signal): Promise<Outcome> {
  const task_id = `cut-${(tasks += 1)}`;
  answers.set(task_id, answer);
  let shown = '';
  const ended = await runtime
    .run(
      { task_id, config: { message: task_id, agent_tier: 'pro' }, meta: { tenant_id: TENANT_ID } },
      {
        stream: true,
        signal,
        onEvent: (event) => {
          if (event.type === 'text-delta' && event.step === 1) shown += event.text;
        },
      },
    )
    .catch((error: unknown) => error as RuntimeError);
  const result = ('code' in ended ? ended.result : ended) as AgentResult;
  const warned = (wanted: string): number => result.warnings.filter(({ code }) => code === wanted).length;
  return {
    shown,
    executed: executed.get(task_id) ?? [],
    tokens: result.tokens.total,
    unknown: warned('USAGE_UNKNOWN'),
    estimated: warned('USAGE_ESTIMATED'),
  };
}

const made = ({ name, input }: Call): string => `${name} ${JSON.stringify(input)}`;

/** Either the usage that came is billed, or something that came is estimated, or the request is listed as unknown. */
function expectAccounted({ tokens, unknown, estimated }: Outcome, hasUsage: boolean): void {
  if (hasUsage) expect([tokens, estimated]).toEqual([120, 0]);
  else expect([Math.sign(tokens), estimated, unknown]).toEqual(tokens > 0 ? [1, 1, 0] : [0, 0, 1]);
}

it('a stream that is cut at any byte runs no incomplete call, and is billed, estimated or unknown', async () => {
  await fc.assert(
    fc.asyncProperty(CASES, async (given) => {
      const [body, end] = streamOf(given);
      const bytes = Buffer.from(body + end);
      const length = Math.round(bytes.length * given.sent);
      const isWhole = length === bytes.length;
      const outcome = await outcomeOf((response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        if (isWhole) response.end(bytes);
        else response.write(bytes.subarray(0, length), () => setImmediate(() => response.destroy()));
      });
      expect(given.text.trimStart().startsWith(outcome.shown.trimStart())).toBe(true);
      if (length < Buffer.byteLength(body)) expect(outcome.executed).toEqual([]);
      else expect([[], given.calls.map(made)]).toContainEqual(outcome.executed);
      const sent = bytes.subarray(0, length).toString();
      expectAccounted(outcome, sent.includes(USAGE));
    }),
    { numRuns: RUNS },
  );
});

it.each([{}, { prompt_tokens: '5', completion_tokens: '1' }, { prompt_tokens: 0, completion_tokens: null }])(
  'a stream that is cut after usage that cannot be read is estimated, and not unknown as well: %j',
  async (usage) => {
    const outcome = await outcomeOf((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const sent = delta({ content: 'Some words' }) + chunk({ choices: [], usage });
      response.write(sent, () => setImmediate(() => response.destroy()));
    });
    expect(outcome.tokens).toBeGreaterThan(0);
    expect(outcome).toMatchObject({ estimated: 1, unknown: 0 });
  },
);

it('a stream under an error status that holds nothing readable has used nothing', async () => {
  const outcome = await outcomeOf((response) => {
    response.writeHead(400, { 'content-type': 'text/event-stream' });
    const hidden = delta({ reasoning_details: [{ type: 'reasoning.encrypted', data: 'AAAA' }] });
    response.end(hidden + chunk({ error: { code: 400, message: 'No' } }));
  });
  expect(outcome).toMatchObject({ tokens: 0, estimated: 0, unknown: 0 });
});

it('a stream that is cancelled, held open or around its end, is billed, estimated or unknown', async () => {
  await fc.assert(
    fc.asyncProperty(CASES, fc.integer({ min: 0, max: 12 }), async (given, turns) => {
      const controller = new AbortController();
      const bytes = Buffer.from(streamOf(given).join(''));
      const length = Math.min(bytes.length, Math.round(bytes.length * given.sent * 2));
      const outcome = await outcomeOf((response) => {
        const stopLater = async (): Promise<void> => {
          for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
          controller.abort();
        };
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(bytes.subarray(0, length), () => void stopLater());
        if (length === bytes.length) response.end();
      }, controller.signal);
      expect(given.text.trimStart().startsWith(outcome.shown.trimStart())).toBe(true);
      for (const call of outcome.executed) expect(given.calls.map(made)).toContain(call);
      expectAccounted(outcome, outcome.tokens === 120 && outcome.estimated === 0);
    }),
    { numRuns: RUNS },
  );
});
