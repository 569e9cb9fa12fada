import type { ServerResponse } from 'node:http';

import { sendJson, startServer, type TestServer } from './http-server';
import { sendStream } from './stream-reply';

/** The parts of a chat completion request that tests look at. */
export interface ModelServerRequest {
  readonly model: string;
  readonly messages: readonly {
    readonly role: string;
    readonly content: string | null;
    readonly tool_calls?: readonly {
      readonly id: string;
      readonly function: { readonly name: string; readonly arguments: string };
    }[];
    readonly tool_call_id?: string;
  }[];
  readonly tools?: readonly {
    readonly type: string;
    readonly function: { readonly name: string; readonly description: string; readonly parameters: unknown };
  }[];
  readonly tool_choice?: string;
  readonly parallel_tool_calls?: boolean;
  readonly temperature?: number;
  readonly max_tokens?: number;
  readonly stream?: boolean;
}

export type ScriptedReply =
  | {
      readonly body: unknown;
      readonly status?: number;
      readonly headers?: Record<string, string>;
      readonly delayMs?: number;
    }
  | ((request: ModelServerRequest, response: ServerResponse) => void | Promise<void>);

export interface ModelServer {
  /** Up to and with /v1. */
  readonly url: string;
  readonly received: ModelServerRequest[];
  readonly requests: TestServer['requests'];
  /** Replies in this order; one more request than replies is answered with HTTP 418 and fails the test's run. */
  readonly script: (...replies: readonly ScriptedReply[]) => void;
  /** Every request gets this reply from now on. */
  readonly always: (reply: (request: ModelServerRequest) => unknown) => void;
  /** Scripted replies that nobody asked for. */
  readonly left: () => number;
  readonly close: () => Promise<void>;
}

/** An OpenAI-compatible server that answers by script. */
export async function startModelServer(): Promise<ModelServer> {
  const received: ModelServerRequest[] = [];
  let queue: ScriptedReply[] = [];
  let fallback: ((request: ModelServerRequest) => unknown) | undefined;
  const server = await startServer(async (raw, response) => {
    // Whoever looks whether the provider is there asks for its list.
    if (raw.method === 'GET') return sendJson(response, { data: [] });
    const request = JSON.parse(raw.body) as ModelServerRequest;
    received.push(request);
    const reply = queue.shift();
    if (typeof reply === 'function') return reply(request, response);
    if (reply !== undefined) {
      if (reply.delayMs !== undefined) await new Promise((resolve) => setTimeout(resolve, reply.delayMs));
      for (const [name, value] of Object.entries(reply.headers ?? {})) response.setHeader(name, value);
      return send(request, response, reply);
    }
    if (fallback !== undefined) return send(request, response, { body: fallback(request) });
    sendJson(response, { error: { message: 'no reply is scripted for this request' } }, 418);
  });
  return {
    url: `${server.url}/v1`,
    received,
    requests: server.requests,
    script: (...replies) => {
      queue = [...replies];
    },
    always: (reply) => {
      fallback = reply;
    },
    left: () => queue.length,
    close: server.close,
  };
}

/** In pieces, where the request asks for them. */
function send(
  { stream }: ModelServerRequest,
  response: ServerResponse,
  { body, status = 200 }: { readonly body: unknown; readonly status?: number },
): void | Promise<void> {
  const isReply = status === 200 && typeof body === 'object' && body !== null && 'choices' in body;
  return stream === true && isReply ? sendStream(response, body) : sendJson(response, body, status);
}

interface UsageFields {
  readonly prompt?: number;
  readonly completion?: number;
  readonly cost?: number;
  readonly model?: string;
}

/** A reply with text. */
export function textReply(content: string, usage: UsageFields = {}): { readonly body: unknown } {
  return { body: completion({ role: 'assistant', content }, 'stop', usage) };
}

/** A reply that asks for tools; arguments may be an object or the raw text. */
export function toolReply(
  calls: readonly { readonly name: string; readonly arguments?: unknown; readonly id?: string }[],
  usage: UsageFields = {},
): { readonly body: unknown } {
  const toolCalls = calls.map((call, index) => ({
    id: call.id ?? `call_${call.name}_${index}_${Math.random().toString(36).slice(2)}`,
    type: 'function',
    function: {
      name: call.name,
      arguments: typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments ?? {}),
    },
  }));
  return { body: completion({ role: 'assistant', content: null, tool_calls: toolCalls }, 'tool_calls', usage) };
}

function completion(message: object, finishReason: string, usage: UsageFields): object {
  const prompt = usage.prompt ?? 100;
  const output = usage.completion ?? 20;
  return {
    id: `gen-${Math.random().toString(36).slice(2)}`,
    object: 'chat.completion',
    ...(usage.model === undefined ? {} : { model: usage.model }),
    choices: [{ index: 0, message, finish_reason: finishReason }],
    usage: {
      prompt_tokens: prompt,
      completion_tokens: output,
      total_tokens: prompt + output,
      ...(usage.cost === undefined ? {} : { cost: usage.cost }),
    },
  };
}
