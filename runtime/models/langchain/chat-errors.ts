import { isRuntimeError, RuntimeError } from '../../errors/runtime-error';
import { errorText } from '../../errors/to-runtime-error';
import { wasNeverConnected } from '../../util/connection-errors';
import { isJsonObject } from '../../util/json';
import type { Redact } from '../../util/redaction/redact';
import { errorWords } from '../../util/text/error-words';
import { modelFailure } from '../model-failure';

const SECRET_NAMES = /key|token|secret|password|authorization|credential/i;
/** Clients keep their headers this far down. */
const MAX_DEPTH = 4;
const MAX_OBJECTS = 2000;
/** Those of a host hold the whole execution. */
const NOT_OF_THE_MODEL = 'callbacks';

/** The texts under names of secrets in what the model knows, so that no error quotes them. */
export function secretsOf(model: object): readonly string[] {
  const found = new Set<string>();
  const seen = new Set<object>();
  const visit = (value: object, depth: number): void => {
    if (depth === 0 || seen.has(value) || seen.size >= MAX_OBJECTS) return;
    seen.add(value);
    for (const name of Object.keys(value)) {
      if (name === NOT_OF_THE_MODEL) continue;
      const inner = readField(value, name);
      if (typeof inner === 'string' && SECRET_NAMES.test(name)) found.add(inner);
      if (typeof inner === 'object' && inner !== null) visit(inner, depth - 1);
    }
  };
  visit(model, MAX_DEPTH);
  return [...found];
}

/** Undefined also for what does not let itself be read: the model's own failure is what has to be told. */
function readField(value: object, name: string): unknown {
  try {
    return (value as Readonly<Record<string, unknown>>)[name];
  } catch {
    return undefined;
  }
}

/** What a LangChain chat model threw, as one of our LLM_ codes. Texts of the provider are redacted and cut. */
export function toChatError(
  error: unknown,
  context: { readonly model: string; readonly elapsedMs: number; readonly redact: Redact },
): RuntimeError {
  if (isRuntimeError(error)) return error;
  const status = statusOf(error);
  if (status === undefined && isTimeout(error)) {
    return new RuntimeError('LLM_TIMEOUT', { timeoutSeconds: Math.ceil(context.elapsedMs / 1000) });
  }
  return modelFailure({ model: context.model, status, reason: context.redact(reasonOf(error)) });
}

/** Whether the provider answered, if only with an error: then nothing was used that it did not count. */
export function answered(error: unknown): boolean {
  return statusOf(error) !== undefined;
}

/** Whether no connection could be made. */
export function wasNotSent(error: unknown): boolean {
  return chainOf(error).some(wasNeverConnected);
}

type ErrorFields = Readonly<Record<string, unknown>>;

/** The error and what caused it, as far as that is known: hosts and clients wrap each other's errors. */
function chainOf(error: unknown): readonly ErrorFields[] {
  const chain: ErrorFields[] = [];
  let current = error;
  while (typeof current === 'object' && current !== null && chain.length < 5) {
    const fields = current as ErrorFields;
    chain.push(fields);
    current = fields.cause;
  }
  return chain;
}

const STATUS_BY_CODE: Readonly<Record<string, number>> = {
  MODEL_AUTHENTICATION: 401,
  MODEL_RATE_LIMIT: 429,
  MODEL_NOT_FOUND: 404,
};

/** The HTTP status, under the names that clients, LangChain and n8n have for it. */
function statusOf(error: unknown): number | undefined {
  for (const fields of chainOf(error)) {
    const { status, statusCode, httpCode, response, lc_error_code: code } = fields;
    const ofResponse = isJsonObject(response) ? response.status : undefined;
    const ofCode = typeof code === 'string' ? STATUS_BY_CODE[code] : undefined;
    const found = [status, statusCode, httpCode, ofResponse, ofCode]
      .map((value) => (typeof value === 'string' ? Number(value) : value))
      .filter((value) => typeof value === 'number')
      .find((value) => value >= 400 && value < 600);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isTimeout(error: unknown): boolean {
  return chainOf(error).some(
    ({ name, code, message }) =>
      name === 'TimeoutError' ||
      code === 'ETIMEDOUT' ||
      code === 'UND_ERR_HEADERS_TIMEOUT' ||
      (typeof message === 'string' && /\btimed out\b/i.test(message)),
  );
}

/** n8n writes a message of its own, and keeps the provider's in `description`; OpenAI's client keeps its body in `error`. */
function reasonOf(error: unknown): string {
  const description = chainOf(error)[0]?.description;
  const message = errorText(error).replace(/\s*Troubleshooting URL: \S+\s*$/, '');
  const inner = chainOf(error).map((fields) => (isJsonObject(fields.error) ? fields.error : ''));
  return errorWords([message, typeof description === 'string' ? description : '', ...inner]);
}
