import { type AgentResult, createRuntime, type ModelRequest, type Tool } from '../../../runtime';
import { type AssistantMessage, type Message, wordsOf } from '../../../runtime/contracts/message';
import type { MemoryLedger } from '../../../runtime/testing';
import { gate } from '../../support/values/agent-fixture';
import { journalingLedger, memoryTenants, TENANT_ID } from '../../support/values/memory-stores';
import { fc } from '../../support/values/properties';
import { everyTimerBut } from '../../support/values/timers';

interface ScriptedCall {
  readonly tool: 'once' | 'again' | 'remember' | 'missing';
  readonly id: string;
  readonly isBroken: boolean;
}

interface Script {
  readonly steps: readonly { readonly calls: readonly ScriptedCall[]; readonly isSilentFirst: boolean }[];
  readonly toolExecution: 'parallel' | 'sequential' | 'single';
  /** The model takes so long that results are written before it answers. */
  readonly isSlow: boolean;
}

/** What the world outside the process has seen, over all attempts. */
interface World {
  readonly ledger: MemoryLedger;
  readonly requests: (readonly Message[])[];
  readonly sent: string[];
}

const newWorld = (): World => ({ ledger: journalingLedger(), requests: [], sent: [] });

/** A process that dies when it has done so much: nothing that it does afterwards has an effect, or an end. */
interface Process {
  readonly act: <T>(work: () => Promise<T> | T) => Promise<T>;
  readonly died: Promise<void>;
}

function aProcess(livesFor: number): Process {
  const { opened: died, open: die } = gate();
  let left = livesFor;
  const breathe = (): Promise<unknown> | undefined => {
    if (left-- > 0) return undefined;
    die();
    return new Promise(() => undefined);
  };
  return {
    died,
    // It may die before what it does has an effect, or before it hears of it.
    act: async (work) => {
      await breathe();
      const value = await work();
      await breathe();
      return value;
    },
  };
}

const callsSoFar = (messages: readonly Message[]) => messages.filter(({ role }) => role === 'assistant').length;

function replyTo(script: Script, world: World, { messages }: ModelRequest): AssistantMessage {
  const place = callsSoFar(messages);
  const step = script.steps[place];
  if (step === undefined) return { role: 'assistant', content: 'Done.' };
  // Once on record: a silence that a process took with it is not the last one.
  const ended = Math.max(0, ...world.ledger.journal(TENANT_ID, 't').map((entry) => entry.step));
  const silences = script.steps.slice(0, place).filter(({ isSilentFirst }) => isSilentFirst).length;
  if (step.isSilentFirst && ended === place + silences) return { role: 'assistant', content: '' };
  const calls = step.calls.map(({ tool, id, isBroken }, index) => ({
    // Where calls are dropped, so are their ids, and the next run is free to use them.
    id: script.toolExecution === 'single' ? `${place}-${index}` : id,
    type: 'function' as const,
    function: {
      name: tool,
      arguments: isBroken ? '{"n": ' : JSON.stringify({ n: `${place}-${index}`, after: '{{last}}' }),
    },
  }));
  return { role: 'assistant', content: null, tool_calls: calls };
}

function toolsOf({ act }: Process, { sent }: World, isInOrder: boolean): Tool[] {
  const tool = (name: string, isRepeatable: boolean): Tool => ({
    definition: { name, description: `Does ${name}`, inputSchema: { type: 'object' } },
    parseInput: (value) => ({ ok: true, value }),
    isRepeatable: isRepeatable ? () => true : undefined,
    execute: ({ n = '' }, { variables }) =>
      act(() => {
        sent.push(`${name} ${JSON.stringify(n)}`);
        if (name === 'remember') variables.set(`v${JSON.stringify(n)}`, n);
        if (name === 'remember' && isInOrder) variables.set('last', n);
        return { isError: false, value: { did: name, n } };
      }),
  });
  return [tool('once', false), tool('again', true), tool('remember', true)];
}

/** One attempt at the task; undefined when the process died in it. */
async function attempt(script: Script, world: World, livesFor = Infinity): Promise<AgentResult | undefined> {
  const { act, died } = aProcess(livesFor);
  const { claim, record } = world.ledger;
  const runtime = createRuntime({
    plugins: {
      tenants: memoryTenants([]),
      // Of calls at the same time, one that is made again comes last.
      tools: toolsOf({ act, died }, world, script.toolExecution !== 'parallel'),
      ledger: {
        ...world.ledger,
        claim: (request) => act(() => claim(request)),
        record: (progress) => act(() => record(progress)),
      },
      model: {
        generate: (request) =>
          act(async () => {
            world.requests.push([...request.messages]);
            if (script.isSlow) await jest.advanceTimersByTimeAsync(1000);
            return { message: replyTo(script, world, request), finishReason: 'stop' };
          }),
      },
    },
  });
  const config = { message: 'Go', max_iterations: 30, max_identical_calls: 50, tool_execution: script.toolExecution };
  const controller = new AbortController();
  const run = runtime.run({ task_id: 't', config, meta: { tenant_id: TENANT_ID } }, { signal: controller.signal });
  try {
    return await Promise.race([run, died.then(() => undefined)]);
  } finally {
    // Stops its timers; what it says is heard by nobody.
    controller.abort();
    run.catch(() => undefined);
  }
}

const aCall: fc.Arbitrary<ScriptedCall> = fc.record({
  tool: fc.constantFrom('once', 'once', 'again', 'remember', 'remember', 'remember', 'missing'),
  // Models repeat ids, leave them out, and give the names of what every object has.
  id: fc.constantFrom('a', 'b', '', '__proto__', 'constructor'),
  isBroken: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
});
const aScript: fc.Arbitrary<Script> = fc.record({
  steps: fc.array(fc.record({ calls: fc.array(aCall, { minLength: 1, maxLength: 3 }), isSilentFirst: fc.boolean() }), {
    minLength: 1,
    maxLength: 3,
  }),
  toolExecution: fc.constantFrom('parallel', 'sequential', 'single'),
  isSlow: fc.boolean(),
});

const isUnknown = (message: Message | undefined) =>
  message !== undefined && wordsOf(message).includes('TOOL_OUTCOME_UNKNOWN');

/** Where the outcome of a call is unknown, what both runs have is left out. */
function alike(messages: readonly Message[], others: readonly Message[]): Message[] {
  return messages.filter((message, index) => !isUnknown(message) && !isUnknown(others[index]));
}

const countOf = (list: readonly string[], value: string) => list.filter((one) => one === value).length;

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: everyTimerBut('setTimeout', 'clearTimeout') });
});
afterEach(() => jest.useRealTimers());

it('wherever processes die, the last one sends the transcript of a run in which none did, and nothing is sent twice', async () => {
  await fc.assert(
    fc.asyncProperty(aScript, fc.array(fc.nat({ max: 40 }), { minLength: 1, maxLength: 3 }), async (script, lives) => {
      const quiet = newWorld();
      const whole = await attempt(script, quiet);
      const world = newWorld();
      let result: AgentResult | undefined;
      for (const livesFor of [...lives, Infinity]) result ??= await attempt(script, world, livesFor);

      const [asked, expected] = [world.requests.at(-1) ?? [], quiet.requests.at(-1) ?? []];
      expect(asked).toHaveLength(expected.length);
      expect(alike(asked, expected)).toEqual(alike(expected, asked));
      const unknown = asked.filter(isUnknown).length;
      const once = [...new Set(quiet.sent.filter((call) => call.startsWith('once')))];
      const times = once.map((call) => countOf(world.sent, call));
      expect(Math.max(0, ...times)).toBeLessThanOrEqual(1);
      expect(times.filter((count) => count === 0).length).toBeLessThanOrEqual(unknown);
      expect(world.sent.filter((call) => !quiet.sent.includes(call))).toEqual([]);
      // Each process that died may have taken one reply with it.
      expect(world.requests.length).toBeLessThanOrEqual(quiet.requests.length + lives.length);
      expect(result).toMatchObject({ status: 'completed', result: { text: 'Done.' } });
      expect(result?.variables).toEqual(whole?.variables);
      expect(result?.result.tool_calls.map(({ tool, arguments: given }) => [tool, given])).toEqual(
        whole?.result.tool_calls.map(({ tool, arguments: given }) => [tool, given]),
      );
    }),
    { numRuns: 200 },
  );
});
