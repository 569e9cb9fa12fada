import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { createRuntime, type RuntimeError, type ToolRow } from '../../runtime';
import { createMemoryLedger } from '../../runtime/testing';
import { sendJson, startServer } from '../support/servers/http-server';
import { type ModelServerRequest, startModelServer } from '../support/servers/model-server';
import { memoryTenants, TENANT_ID, toolRow } from '../support/values/memory-stores';

/** One run from task to result: what the model says, what it is sent, what the tools get, what comes out. */
interface Golden {
  readonly about: string;
  readonly task: { readonly config: object; readonly meta?: object };
  /** Rows of the tenant's tools; a row without endpoint is answered with `answers`. */
  readonly tools?: readonly (Partial<ToolRow> & Pick<ToolRow, 'code'>)[];
  /** What the tool server answers, call by call for each tool. */
  readonly answers?: Readonly<Record<string, readonly { readonly status?: number; readonly body: unknown }[]>>;
  readonly replies: readonly { readonly message: object; readonly finish_reason?: string; readonly usage?: object }[];
  readonly expect: {
    /** The messages of the last request. */
    readonly transcript: readonly object[];
    /** Fields of the requests, one entry a request. */
    readonly requests?: readonly object[];
    /** The bodies that the tool server got. */
    readonly hooks?: readonly object[];
    readonly result?: object;
    readonly error?: object;
  };
}

const files = readdirSync(__dirname).filter((file) => file.endsWith('.json'));
const open: (() => Promise<void>)[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((close) => close()));
});

it.each(files.map((file) => [read(file).about, file]))('%s', async (_about, file) => {
  const golden = read(file);
  const { outcome, sent, hooks, unconsumed } = await replay(golden);
  expect(unconsumed).toEqual([]);
  expect(sent).toHaveLength(golden.replies.length);
  expect(sent.at(-1)?.messages).toEqual(golden.expect.transcript);
  if (golden.expect.requests !== undefined) expect(sent).toMatchObject(golden.expect.requests);
  expect(hooks).toMatchObject(golden.expect.hooks ?? []);
  expect(outcome).toMatchObject(
    golden.expect.error === undefined
      ? { result: golden.expect.result }
      : { error: golden.expect.error, result: golden.expect.result },
  );
  expect('error' in outcome).toBe(golden.expect.error !== undefined);
});

it.each(files.map((file) => [read(file).about, file]))('streamed, %s is the same', async (_about, file) => {
  const golden = read(file);
  const [whole, streamed] = [await replay(golden), await replay(golden, true)];
  expect(streamed.sent.every(({ stream }) => stream === true)).toBe(true);
  expect(withoutTimes(streamed.sent.map(({ messages }) => messages))).toEqual(
    withoutTimes(whole.sent.map(({ messages }) => messages)),
  );
  for (const part of ['outcome', 'hooks', 'ledger'] as const) {
    expect(withoutTimes(streamed[part])).toEqual(withoutTimes(whole[part]));
  }
  const { text = '' } = (streamed.outcome.result as { result?: { text: string } } | undefined)?.result ?? {};
  const shown = streamed.shown.get(streamed.sent.length) ?? '';
  if (streamed.outcome.error === undefined && text !== '') expect(text.endsWith(shown)).toBe(true);
});

/** Ids and times differ between any two runs. */
function withoutTimes(value: unknown): unknown {
  const text = JSON.stringify(value, (key, entry: unknown) =>
    entry instanceof Map ? [...entry] : /duration_?ms|At$|_at$/i.test(key) ? 0 : entry,
  );
  return JSON.parse(
    text
      .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<id>')
      .replace(/127\.0\.0\.1:\d+/g, '<host>'),
  );
}

it('there are golden transcripts', () => expect(files.length).toBeGreaterThan(5));

function read(file: string): Golden {
  return JSON.parse(readFileSync(join(__dirname, file), 'utf8')) as Golden;
}

async function replay(
  golden: Golden,
  stream = false,
): Promise<{
  outcome: { readonly result: unknown; readonly error?: unknown };
  sent: readonly ModelServerRequest[];
  hooks: readonly unknown[];
  unconsumed: readonly string[];
  /** The text of each step, as it came. */
  shown: ReadonlyMap<number, string>;
  ledger: unknown;
}> {
  const models = await startModelServer();
  models.script(...golden.replies.map((reply) => ({ body: completion(reply) })));
  const answers = new Map(Object.entries(golden.answers ?? {}).map(([tool, list]) => [tool, [...list]]));
  const hooks: unknown[] = [];
  const server = await startServer((request, response) => {
    const body = JSON.parse(request.body) as { readonly tool: string };
    hooks.push(body);
    const answer = answers.get(body.tool)?.shift();
    if (answer === undefined) return sendJson(response, { error: 'no answer is scripted for this call' }, 418);
    sendJson(response, answer.body, answer.status);
  });
  const rows = (golden.tools ?? []).map((row) => toolRow({ endpoint: server.url, ...row }));
  const ledger = createMemoryLedger();
  const shown = new Map<number, string>();
  const runtime = createRuntime({
    model: { apiKey: 'sk-golden', baseUrl: models.url, maxRetries: 0 },
    plugins: { tenants: memoryTenants(rows), ledger },
  });
  open.push(runtime.close, models.close, server.close);

  const { task } = golden;
  const outcome = await runtime
    .run(
      { task_id: 'golden-task', trace_id: 'golden-trace', ...task, meta: { tenant_id: TENANT_ID, ...task.meta } },
      {
        stream,
        onEvent: (event) => {
          if (event.type === 'text-delta') shown.set(event.step, (shown.get(event.step) ?? '') + event.text);
        },
      },
    )
    .then(
      (result) => ({ result }),
      (error: unknown) => ({ error, result: (error as RuntimeError).result }),
    );
  const left = [...answers].flatMap(([tool, list]) => list.map(() => `answer of ${tool}`));
  const kept = {
    calls: ledger.calls(TENANT_ID),
    spent: ledger.spent(TENANT_ID),
    audit: ledger.audit(TENANT_ID),
    journal: ledger.journal(TENANT_ID, 'golden-task'),
  };
  const replies = Array.from({ length: models.left() }, () => 'model reply');
  return { outcome, sent: models.received, hooks, unconsumed: [...replies, ...left], shown, ledger: kept };
}

function completion({ message, finish_reason = 'stop', usage }: Golden['replies'][number]): object {
  return {
    choices: [{ index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason }],
    usage: usage ?? { prompt_tokens: 100, completion_tokens: 20 },
  };
}
