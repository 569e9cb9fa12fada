import { randomUUID } from 'node:crypto';

import type { CallModel } from './call-in-logs';

type Answer = Awaited<ReturnType<CallModel>>;
type Asked = Parameters<CallModel>[0];

/** A request of the OpenAI chat API, as far as it is read. */
interface ChatRequest {
  readonly messages: readonly unknown[];
  readonly tools?:
    | null
    | readonly {
        readonly type: string;
        /** Undefined for tools of another type. */
        readonly function?: { readonly name: string; readonly description?: string; readonly parameters?: object };
      }[];
  /** The older form of tools. */
  readonly functions?: unknown;
  readonly tool_choice?: null | Asked['toolChoice'] | { readonly function: { readonly name: string } };
  readonly parallel_tool_calls?: boolean | null;
  readonly response_format?: Asked['responseFormat'] | null;
  readonly stop?: string | readonly string[] | null;
  readonly stream?: boolean;
}

/** Answers requests of n8n's class for chat models in place of a provider: whole, or in pieces. */
export function answerRequests(call: CallModel): typeof globalThis.fetch {
  return async (_address, init) => {
    const request = JSON.parse(init?.body as string) as ChatRequest;
    const signal = init?.signal ?? undefined;
    try {
      const asked = { ...askedBy(request), signal };
      return request.stream === true ? await inPieces(call, asked) : Response.json(completion(await call(asked)));
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason as Error;
      return Response.json({ error: errorOf(error) }, { status: FAILED });
    }
  };
}

function askedBy(request: ChatRequest): Asked {
  const { messages, tools, tool_choice: choice, parallel_tool_calls, response_format, stop } = request;
  if (request.functions !== undefined) throw new Error('Functions in the older form are not offered: use tools');
  return {
    messages,
    tools: (tools ?? []).map(({ type, function: offered }) => {
      if (offered === undefined) throw new Error(`Tools of the type "${type}" belong to one provider: use functions`);
      const { name, description = '', parameters } = offered;
      return { name, description, inputSchema: (parameters ?? NO_PARAMETERS) as Schema };
    }),
    toolChoice: choiceOf(choice),
    parallelToolCalls: parallel_tool_calls ?? undefined,
    responseFormat: response_format ?? undefined,
    stop: typeof stop === 'string' ? [stop] : (stop ?? undefined),
  };
}

function choiceOf(given: ChatRequest['tool_choice']): Asked['toolChoice'] {
  if (typeof given !== 'object' || given === null) return given ?? undefined;
  return 'function' in given ? { name: given.function.name } : given;
}

type Schema = NonNullable<Asked['tools']>[number]['inputSchema'];
const NO_PARAMETERS = { type: 'object', properties: {} };

const FINISH: Readonly<Record<string, string>> = {
  'tool-calls': 'tool_calls',
  length: 'length',
  cut: 'length',
  'content-filter': 'content_filter',
};

const finishOf = ({ finish_reason: reason }: Answer): string => FINISH[reason] ?? 'stop';

function completion(answer: Answer): object {
  const { message, model } = answer;
  const choice = { index: 0, message, finish_reason: finishOf(answer), logprobs: null };
  return { ...about('chat.completion', model), choices: [choice], usage: usageOf(answer) };
}

function about(object: string, model: string, id: string = newId()): object {
  return { id, object, created: Math.floor(Date.now() / 1000), model };
}

const newId = (): string => `chatcmpl-${randomUUID()}`;

function usageOf({ tokens }: Answer): object {
  return {
    prompt_tokens: tokens.prompt,
    completion_tokens: tokens.completion,
    total_tokens: tokens.total,
    prompt_tokens_details: { cached_tokens: tokens.cached },
    completion_tokens_details: { reasoning_tokens: tokens.reasoning },
  };
}

/** Refused requests and failed models alike: whoever asks must not ask again, since that has been done. */
const FAILED = 400;

function errorOf(error: unknown): object {
  return { message: (error as Error).message, type: 'tenant_model' };
}

/** Resolves once the first piece is there; where the model fails before it, with the failure. */
async function inPieces(call: CallModel, asked: Asked): Promise<Response> {
  const stream = openStream();
  const begun = Promise.withResolvers<undefined>();
  const id = newId();
  let sent = '';
  const say = (text: string): void => {
    if (text === '') return;
    stream.send(chunk({ role: 'assistant', content: text }, { id }));
    sent += text;
    begun.resolve(undefined);
  };
  const answering = call({ ...asked, onDelta: ({ kind, text }) => (kind === 'text' ? say(text) : undefined) });
  void answering
    .then((answer) => {
      const { content } = answer.message;
      // Not every model gives its reply in pieces, and the last one may have been held back.
      if (typeof content === 'string' && content.startsWith(sent)) say(content.slice(sent.length));
      stream.end(lastChunks(answer, id));
      begun.resolve(undefined);
    })
    .catch((error: unknown) => {
      // Behind pieces that were shown there is no status any more.
      stream.end([{ error: errorOf(error) }]);
      begun.reject(error);
    });
  await begun.promise;
  return new Response(stream.body, { headers: { 'content-type': 'text/event-stream' } });
}

interface ChunkAbout {
  readonly id: string;
  readonly finish?: string;
  readonly model?: string;
}

function chunk(delta: object, { id, finish, model = '' }: ChunkAbout): object {
  const choice = { index: 0, delta, finish_reason: finish ?? null };
  return { ...about('chat.completion.chunk', model, id), choices: [choice] };
}

function lastChunks(answer: Answer, id: string): readonly object[] {
  const { model, message } = answer;
  const calls = (message.tool_calls ?? []).map((one, index) => ({ index, ...one }));
  const delta = { role: 'assistant', content: '', ...(calls.length === 0 ? {} : { tool_calls: calls }) };
  const usage = { ...about('chat.completion.chunk', model, id), choices: [], usage: usageOf(answer) };
  return [chunk(delta, { id, finish: finishOf(answer), model }), usage];
}

interface Stream {
  readonly body: ReadableStream<Uint8Array>;
  readonly send: (data: object) => void;
  /** Sends the last data, and closes. */
  readonly end: (last: readonly object[]) => void;
}

/** Opens a body of server-sent events, which takes no more once nobody reads it. */
function openStream(): Stream {
  const encoder = new TextEncoder();
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start: (given) => {
      controller = given;
    },
    cancel: () => {
      controller = undefined;
    },
  });
  const write = (text: string): void => controller?.enqueue(encoder.encode(`data: ${text}\n\n`));
  const send = (data: object): void => write(JSON.stringify(data));
  return {
    ...{ body, send },
    end: (last) => {
      last.forEach(send);
      write('[DONE]');
      controller?.close();
    },
  };
}
