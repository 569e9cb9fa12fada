import type { ServerResponse } from 'node:http';

import {
  type AgentResult,
  createRuntime,
  type RunOptions,
  type Runtime,
  type RuntimeError,
  type Tool,
  type ToolDefinition,
} from '../../../runtime';
import { createMemoryLedger } from '../../../runtime/testing';
import { sendJson } from '../servers/http-server';
import { type ModelServer, type ModelServerRequest, startModelServer, textReply } from '../servers/model-server';
import { sendStream } from '../servers/stream-reply';
import { memoryTenants, TENANT_ID } from '../values/memory-stores';

export type Answer = (response: ServerResponse, request: ModelServerRequest) => unknown;

/** Sends what a provider sent, under a type of its own choice. */
export const sends =
  (text: string, type: string | undefined = 'text/event-stream', status = 200): Answer =>
  (response) =>
    response.writeHead(status, type === '' ? {} : { 'content-type': type }).end(text);

/** Sends a message in the form that was asked for, streamed or not, with 120 tokens. */
export const replies =
  (message: object, finish: unknown = 'stop'): Answer =>
  (response, { stream }) => {
    const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };
    const choice = { index: 0, message: { role: 'assistant', ...message }, finish_reason: finish };
    const body = { id: 'gen-1', model: 'a-model', choices: [choice], usage };
    return stream === true ? sendStream(response, body) : sendJson(response, body);
  };

export interface Outcome {
  readonly code?: string;
  readonly message?: string;
  readonly text?: string;
  readonly shown: string;
  readonly called: readonly string[];
  readonly tokens: number;
  readonly requests: number;
  readonly truncated?: boolean;
  readonly warnings?: readonly string[];
}

/** A runtime with some tools, else `weather` and `forecast`, whose model provider speaks a dialect. */
export interface DialectWorld {
  readonly models: ModelServer;
  /** A run whose model answers so, as often as said, and "Done" after tools. */
  readonly outcomeOf: (
    answer: Answer | readonly Answer[],
    options?: { readonly stream?: boolean; readonly config?: object; readonly connected?: RunOptions['connected'] },
  ) => Promise<Outcome>;
  /** The same run with a streamed and an unstreamed reply, which must end alike; what is shown must be the answer. */
  readonly alike: (answer: Answer | readonly Answer[], config?: object) => Promise<Omit<Outcome, 'shown'>>;
  readonly close: () => Promise<unknown>;
}

export async function openDialectWorld(
  tools: readonly ToolDefinition[] = ['weather', 'forecast'].map(anything),
): Promise<DialectWorld> {
  const models = await startModelServer();
  const called: string[] = [];
  const tool = (definition: ToolDefinition): Tool => ({
    definition,
    parseInput: (value) => ({ ok: true, value }),
    execute: (input) => {
      called.push(`${definition.name} ${JSON.stringify(input)}`);
      return Promise.resolve({ isError: false, value: 'fine' });
    },
  });
  const runtime = createRuntime({
    model: { apiKey: 'sk-dialects', baseUrl: models.url, maxRetries: 2 },
    plugins: {
      tenants: memoryTenants([]),
      ledger: createMemoryLedger(),
      tools: tools.map(tool),
    },
  });
  let tasks = 0;
  const outcomeOf: DialectWorld['outcomeOf'] = async (answers, { stream = true, config = {}, connected } = {}) => {
    const scripted = [answers]
      .flat()
      .map((answer) => (request: ModelServerRequest, response: ServerResponse) => void answer(response, request));
    models.script(...scripted, textReply('Done', { prompt: 0, completion: 0 }));
    const before = models.received.length;
    called.length = 0;
    const task = {
      task_id: `dialect-${(tasks += 1)}`,
      config: { message: 'Go', agent_tier: 'pro', ...config },
      meta: { tenant_id: TENANT_ID },
    };
    const { ended, shown } = await run(runtime, task, { stream, connected });
    return { ...toOutcome(ended), shown, called: [...called], requests: models.received.length - before };
  };
  return {
    models,
    outcomeOf,
    alike: async (answer, config) => {
      const { shown, ...streamed } = await outcomeOf(answer, { config });
      const { shown: _none, ...plain } = await outcomeOf(answer, { stream: false, config });
      expect(streamed).toEqual(plain);
      if (plain.text !== undefined)
        expect(plain.requests === 1 ? shown : shown.slice(-plain.text.length)).toBe(plain.text);
      return plain;
    },
    close: () => Promise.all([runtime.close(), models.close()]),
  };
}

/** A tool that takes anything. */
function anything(name: string): ToolDefinition {
  return { name, description: name, inputSchema: { type: 'object' } };
}

type Ended = AgentResult | RuntimeError;

async function run(
  runtime: Runtime,
  task: Parameters<Runtime['run']>[0],
  options: RunOptions,
): Promise<{ readonly ended: Ended; readonly shown: string }> {
  const shown: string[] = [];
  const ended = await runtime
    .run(task, { ...options, onEvent: (event) => event.type === 'text-delta' && void shown.push(event.text) })
    .catch((error: unknown) => error as RuntimeError);
  return { ended, shown: shown.join('') };
}

function toOutcome(ended: Ended): Pick<Outcome, 'code' | 'message' | 'text' | 'tokens' | 'truncated' | 'warnings'> {
  const result = ('code' in ended ? ended.result : ended) as AgentResult;
  const warnings = result.warnings.map(({ message }) => message);
  return {
    ...('code' in ended ? { code: ended.code, message: ended.message } : { text: ended.result.text }),
    tokens: result.tokens.total,
    ...(result.truncated === undefined ? {} : { truncated: result.truncated }),
    ...(warnings.length === 0 ? {} : { warnings }),
  };
}
