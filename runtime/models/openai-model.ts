import type { Model, ModelReply, ModelRequest } from '../contracts/model';
import { createRedactor, redactBoth } from '../util/redact';
import { ChatClient } from './chat-client';
import { normalizeReply } from './normalize-reply';
import { requestBody } from './request-body';
import { toModelError } from './to-model-error';
import { createTransport, type AttemptsInit } from './transport';

interface OpenAiModelConfig {
  readonly apiKey: string;
  /** Up to and with `/v1`. */
  readonly baseUrl: string;
  /** Sent with every request, beside the key. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Tries again so often after a time-out, a lost connection, HTTP 408, 409, 429 or 5xx; honours Retry-After. */
  readonly maxRetries: number;
}

export interface ClosableModel extends Model {
  readonly close: () => Promise<void>;
}

/** Any OpenAI-compatible API through the `openai` client. */
export function createOpenAiModel(config: OpenAiModelConfig): ClosableModel {
  const transport = createTransport();
  const redact = createRedactor([config.apiKey, ...Object.values(config.headers ?? {})]);
  const client = new ChatClient({
    // A local model server needs no key, but the client insists on one.
    apiKey: config.apiKey === '' ? 'none' : config.apiKey,
    baseURL: config.baseUrl,
    organization: null,
    project: null,
    maxRetries: config.maxRetries,
    fetch: transport.fetch,
    headers: { ...config.headers },
    logLevel: 'off',
  });
  const generate = async (request: ModelRequest): Promise<ModelReply> => {
    const fetchOptions: AttemptsInit = { attempts: request.attempts };
    try {
      const body: unknown = await client.post('/chat/completions', {
        body: requestBody(request),
        timeout: request.timeoutMs,
        signal: request.signal,
        fetchOptions: fetchOptions as object,
      });
      return normalizeReply(body);
    } catch (error) {
      const context = { model: request.modelId, timeoutMs: request.timeoutMs };
      const failure = toModelError(error, { ...context, redact: redactBoth(request.redact, redact) });
      // Work was done for a reply that cannot be read, so what it used is as unknown as without a reply.
      if (failure.code === 'LLM_BAD_REPLY') request.attempts.answered--;
      throw failure;
    }
  };
  return { generate, close: transport.close };
}
