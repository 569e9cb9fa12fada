import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json';
import { errorParts, errorWords } from '../../util/text/error-words';

/** Error in OpenAI's form; `code` is the equivalent HTTP status. */
interface ReplyError extends JsonObject {
  readonly message: string;
  readonly code: number;
  /** The provider's own codes, also those of an error inside. */
  readonly kind: string;
}

/**
 * Returns the error in a reply or stream chunk, or undefined. Accepts `error` as object or string, at the top level or in the
 * first choice, and an error object in place of the reply (vLLM, gateways). Ignores an empty `error` next to an answer. An
 * unknown kind maps to HTTP 502. `isError`: the reply itself is known to be an error.
 */
export function readError(reply: JsonObject, isError = false): ReplyError | undefined {
  const found = findError(reply, isError);
  if (found === undefined) return undefined;
  const fields = isJsonObject(found) ? found : {};
  return { ...fields, message: messageOf(found), code: knownStatus(fields) ?? 502, kind: kindOf(found) };
}

function findError(reply: JsonObject, isError: boolean): JsonValue | undefined {
  const { error = null, choices } = reply;
  const [choice] = Array.isArray(choices) ? (choices as JsonValue[]) : [];
  if (choice !== undefined)
    return [error, errorOf(choice)].filter(saysSomething).map((found) => withKind(found, reply))[0];
  if (!EMPTY.has(error)) return withKind(error, reply);
  const isItself = choices === undefined && wordsOf(reply) !== undefined && hasKind(reply);
  return isError || isItself || reply.object === 'error' ? reply : undefined;
}

/** Distinguishes an error in place of a chunk from a message such as a sign of life. */
function hasKind(reply: JsonObject): boolean {
  const { code = null, type, detail = null, error_msg: words = null } = reply;
  const isNamed = typeof type === 'string' && /error/i.test(type);
  return isNamed || knownStatus(reply) !== undefined || [code, detail, words].some(saysSomething);
}

function errorOf(choice: JsonValue): JsonValue {
  return isJsonObject(choice) ? (choice.error ?? null) : null;
}

/** Adds the kind that TGI puts next to the text of an error. */
function withKind(error: JsonValue, { error_type: type = null, code = null }: JsonObject): JsonValue {
  return isJsonObject(error) ? error : { message: messageOf(error), type, code };
}

const EMPTY: ReadonlySet<JsonValue> = new Set([null, false, '', 0]);

/** Reports a value that is not empty, or has a field that is not. */
export function saysSomething(value: JsonValue): boolean {
  if (typeof value !== 'object' || value === null) return !EMPTY.has(value);
  return Object.values(value).some((inner: JsonValue) => !EMPTY.has(inner));
}

const WORDS = ['message', 'msg', 'error_msg', 'error_message', 'detail'];

function wordsOf(error: JsonObject): JsonValue | undefined {
  return WORDS.map((key) => error[key]).find((words) => words !== undefined && saysSomething(words));
}

function messageOf(error: JsonValue): string {
  const words = errorWords(error);
  return words === '' ? JSON.stringify(error) : words;
}

function kindOf(error: JsonValue): string {
  // The error of a stream was read before, and has its kind.
  const kinds = errorParts(error).objects.flatMap((part) => [...KIND_FIELDS, 'kind'].map((key) => part[key]));
  return kinds.filter((kind) => typeof kind === 'string').join(' ');
}

const STATUS_FIELDS = ['code', 'status', 'status_code', 'error_code', 'http_status'];
const KIND_FIELDS = ['code', 'type', 'status', 'error_type'];

/** Returns the status named in a field, else the status that providers send with this kind of error, else undefined. */
function knownStatus(error: JsonObject): number | undefined {
  const named = STATUS_FIELDS.map((key) => Number(error[key])).find(
    (code) => Number.isInteger(code) && code >= 400 && code <= 599,
  );
  if (named !== undefined) return named;
  const kinds = KIND_FIELDS.map((key) => error[key]).filter((kind) => typeof kind === 'string');
  return KINDS.find(([pattern]) => kinds.some((kind) => pattern.test(kind)))?.[1];
}

/** Kinds sent by OpenAI, Anthropic, Google (`google.rpc.Code`), vLLM, TGI and DashScope, most specific first. */
const KINDS: readonly (readonly [RegExp, number])[] = [
  [/insufficient_?(quota|credit|balance|funds)|payment|billing/i, 402],
  [/unauthenticated|unauthorized|authentication|invalid_?api_?key/i, 401],
  [/permission|forbidden|moderation/i, 403],
  [/not_?found/i, 404],
  [/rate_?limit|resource_?exhausted|too_?many|throttl|quota/i, 429],
  [/bad_?request|invalid|failed_?precondition|out_?of_?range|validation|context_?length|too_?large/i, 400],
  [/timeout|deadline_?exceeded/i, 504],
  [/overloaded|unavailable/i, 503],
];
