import type { Model, ModelReply, ModelRequest } from '../../contracts/model';
import type { RuntimeError } from '../../errors/runtime-error';
import { createRedactor, redactBoth } from '../../util/redaction/redact';
import { ChatClient } from './chat-client';
import { createDialects, type Dialect } from './dialect/dialect';
import { inDialect } from './dialect/in-dialect';
import { normalizeReply } from './normalize-reply';
import { requestBody } from './request-body';
import { toModelError } from './to-model-error';
import { type CallInit, createTransport, type LeanResponse } from './transport';
import { noteWasted } from './wasted-reply';

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

/** Longest timer of Node. The transport limits silence, the run's signal limits the whole call. */
const NO_LIMIT = 2 ** 31 - 1;

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
  const host = URL.canParse(config.baseUrl) ? new URL(config.baseUrl).host : config.baseUrl;
  const dialects = createDialects();
  const ask = async (request: ModelRequest, dialect: Dialect): Promise<ModelReply> => {
    const { modelId, attempts, silenceMs, signal } = request;
    const self = `${modelId}@${host}`;
    const fetchOptions: CallInit = { call: { attempts, modelId, signal, silenceMs, onDelta: request.onDelta } };
    const response = await client
      .post('/chat/completions', {
        body: requestBody(request, self, dialect),
        timeout: NO_LIMIT,
        signal,
        fetchOptions: fetchOptions as object,
      })
      .asResponse();
    return takeReply(response as unknown as LeanResponse, self, request);
  };
  const generate = (request: ModelRequest): Promise<ModelReply> => {
    const { modelId: model, silenceMs } = request;
    const toError = (thrown: unknown): RuntimeError =>
      toModelError(thrown, { model, silenceMs, redact: redactBoth(request.redact, redact) });
    return inDialect(request, { dialects, ask, toError });
  };
  return { generate, close: transport.close };
}

function takeReply(response: LeanResponse, self: string, { attempts, modelId }: ModelRequest): ModelReply {
  try {
    return normalizeReply(response.reply(), self);
  } catch (error) {
    // Work was done for a reply that cannot be read. Where it does not say what it used, that is as unknown as without a reply.
    if (!noteWasted(response.parsed, { attempts, modelId })) attempts.answered--;
    throw error;
  }
}
