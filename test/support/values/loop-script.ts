import type { RunEvent, Tool, ToolOutput } from '../../../runtime';
import type { Message, ToolCallMessage } from '../../../runtime/contracts/message';
import type { ModelReply, ModelRequest } from '../../../runtime/contracts/model';
import type { LoopOutcome } from '../../../runtime/contracts/outcome';
import type { ToolCallRecord } from '../../../runtime/contracts/tools/tool-call';
import type {
  EndedModelCall,
  LoopInput,
  LoopLimits,
  LoopObserver,
  LoopSettings,
} from '../../../runtime/loop/loop-contract';
import { runLoop } from '../../../runtime/loop/run-loop';
import { createToolset } from '../../../runtime/tools/combine-toolsets';
import { A_RUN } from './a-run';

export type ScriptedModelReply = ModelReply | Error | ((request: ModelRequest) => Promise<ModelReply>);

/** What the model was sent in one call, as it was at that moment. */
export interface SentRequest {
  readonly messages: readonly Message[];
  readonly toolChoice: string;
  readonly parallelToolCalls: boolean;
  readonly tools: readonly string[];
}

export interface ScriptedRun {
  readonly outcome: LoopOutcome;
  readonly sent: readonly SentRequest[];
  readonly ended: readonly EndedModelCall[];
  readonly events: readonly RunEvent[];
  /** The model call that was to follow, each time the loop stopped to ask. */
  readonly nexts: readonly (number | undefined)[];
  readonly toolCalls: readonly ToolCallRecord[];
}

export interface LoopScript {
  readonly replies: readonly ScriptedModelReply[];
  readonly tools?: readonly Tool[];
  readonly settings?: Partial<LoopSettings>;
  readonly limits?: Partial<LoopLimits>;
  readonly input?: Partial<LoopInput>;
  readonly observer?: Partial<LoopObserver>;
}

const LIMITS: LoopLimits = {
  maxIterations: 10,
  maxParallelToolCalls: 8,
  maxToolCallsPerStep: 32,
  maxErrorSteps: 5,
  maxIdenticalCalls: 3,
};
const SETTINGS: LoopSettings = {
  modelId: 'test/model',
  limits: LIMITS,
  onMaxIterations: 'error',
  toolExecution: 'parallel',
  toolChoice: 'auto',
  modelSilenceMs: 10_000,
};

/** Runs the loop against a script. A reply too few and a reply too many both fail the test. */
export async function runScript({
  replies,
  tools = [],
  settings,
  limits,
  input,
  observer,
}: LoopScript): Promise<ScriptedRun> {
  const left = [...replies];
  const sent: SentRequest[] = [];
  const ended: EndedModelCall[] = [];
  const events: RunEvent[] = [];
  const nexts: (number | undefined)[] = [];
  const toolCalls: ToolCallRecord[] = [];
  const generate = (request: ModelRequest): Promise<ModelReply> => {
    sent.push({
      messages: [...request.messages],
      toolChoice: request.toolChoice,
      parallelToolCalls: request.parallelToolCalls,
      tools: request.tools.map((tool) => tool.name),
    });
    const reply = left.shift();
    if (reply === undefined) return Promise.reject(new Error('the script has no reply for this call'));
    if (typeof reply === 'function') return reply(request);
    return reply instanceof Error ? Promise.reject(reply) : Promise.resolve(reply);
  };
  const outcome = await runLoop({
    model: { generate },
    toolset: createToolset(tools),
    start: { messages: [{ role: 'user', content: 'Go' }] },
    settings: { ...SETTINGS, ...settings, limits: { ...LIMITS, ...limits } },
    scope: { run: A_RUN, meta: { tenant_id: 'tenant', task_id: 'task' }, variables: new Map() },
    stop: { signal: new AbortController().signal, error: () => undefined },
    observer: {
      modelCallEnded: (call) => {
        ended.push(call);
        return Promise.resolve(call.reply?.usage);
      },
      modelSettledLate: () => Promise.resolve(),
      stepOpened: () => undefined,
      beforeToolCalls: ({ next }) => {
        nexts.push(next);
        return Promise.resolve(new Map());
      },
      toolCallEnded: (call) => void toolCalls.push(call),
      ...observer,
    },
    emit: (event) => void events.push(event),
    ...input,
  });
  if (left.length > 0) throw new Error(`${left.length} scripted replies were not asked for`);
  return { outcome, sent, ended, events, nexts, toolCalls };
}

/** The model answers with text. */
export function says(content: string | null, rest: Partial<ModelReply> = {}): ModelReply {
  return { message: { role: 'assistant', content }, finishReason: 'stop', ...rest };
}

/** The model asks for tools: `[name, arguments, id]`, arguments as an object or as raw text. */
export function asks(
  calls: readonly (readonly [name: string, input?: unknown, id?: string])[],
  rest: Partial<ModelReply> = {},
): ModelReply {
  const toolCalls = calls.map(([name, input, id], index): ToolCallMessage => ({
    id: id ?? `${name}-${index}`,
    type: 'function',
    function: { name, arguments: typeof input === 'string' ? input : JSON.stringify(input ?? {}) },
  }));
  return { message: { role: 'assistant', content: null, tool_calls: toolCalls }, finishReason: 'tool-calls', ...rest };
}

/** A tool that takes any object. */
export function aTool(
  name: string,
  execute: Tool['execute'] = (value) => Promise.resolve({ isError: false, value }),
): Tool {
  return {
    definition: { name, description: `Does ${name}`, inputSchema: { type: 'object' } },
    parseInput: (value) => ({ ok: true, value }),
    execute,
  };
}

/** A tool that always fails. */
export function failingTool(name: string): Tool {
  const output: ToolOutput = { isError: true, code: 'TOOL_FAILED', value: { code: 'TOOL_FAILED' } };
  return aTool(name, () => Promise.resolve(output));
}

/** The errors that the model was told of, call by call; undefined for a call that went well. */
export function toldCodes({ outcome }: ScriptedRun): (string | undefined)[] {
  return outcome.steps.flatMap((step) => step.toolCalls.map((call) => call.outcome?.code));
}
