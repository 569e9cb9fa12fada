import type { ModelRequest } from '../../../contracts/model';
import type { ToolDefinition } from '../../../contracts/tools/tool-shapes';
import type { JsonValue } from '../../../util/json';
import { errorParts } from '../../../util/text/error-words';
import { offeredTool } from '../../tool-schema/offered-tool';
import { optionalFields } from '../request-body';
import { type Dialect, toolKey, toolsIn } from './dialect';
import { namedTools, quotedTools } from './named-tools';

/** A provider's refusal of a request. */
export interface ProviderRefusal {
  readonly status: number;
  /** The message, including those of nested errors. */
  readonly words: string;
  /** The values of `param`. */
  readonly params: readonly string[];
  /** The message for warnings: redacted and short. */
  readonly reason: string;
}

/** Returns each `param` of an error and of nested errors. */
export function paramsOf(error: JsonValue): readonly string[] {
  return errorParts(error).objects.flatMap(({ param }) => (typeof param === 'string' ? [param] : []));
}

/** Returns the dialect to retry a refused request in, or undefined if the refusal names nothing that could be changed. */
export function changedDialect(refusal: ProviderRefusal, request: ModelRequest, dialect: Dialect): Dialect | undefined {
  const text = [...refusal.params, refusal.words].map((part) => part.slice(0, MAX_CHARS)).join('\n');
  const said = { ...refusal, text };
  // llama.cpp answers 500 if the chat template fails.
  const changed = refusal.status >= 500 ? ofMessages(said, dialect) : changeFor(said, request, dialect);
  return changed === undefined ? undefined : { ...dialect, ...changed };
}

function changeFor(said: Said, request: ModelRequest, dialect: Dialect): Partial<Dialect> | undefined {
  const limits = limitsIn(said);
  if (limits !== undefined && isChange(limits, dialect)) return limits;
  // A refusal of a tool may quote its schema, which must change nothing but that tool.
  const named = namedTools(said, toolsIn(dialect, request.tools));
  if (named.length > 0) return ofTools(named, said, dialect);
  return SCHEMAS.test(said.text) ? ofSchemas(request, dialect) : ofRequest(said, request, dialect);
}

/** Returns the change for a refusal that is not about a tool. A name in quotation marks counts as that of a tool at last. */
function ofRequest(said: Said, request: ModelRequest, dialect: Dialect): Partial<Dialect> | undefined {
  if (HOPELESS.test(said.text)) return undefined;
  const change = ofMessages(said, dialect) ?? ofFields(said, request, dialect);
  if (change !== undefined) return change;
  const quoted = quotedTools(said.text, toolsIn(dialect, request.tools));
  return quoted.length === 0 ? undefined : ofTools(quoted, said, dialect);
}

const MAX_CHARS = 4000;

interface Said extends ProviderRefusal {
  readonly text: string;
}

/** Refusals that no other form of the request resolves. */
const HOPELESS =
  /context.?(length|window|size)|maximum context|too many (input )?tokens|prompt is too long|reduce the length|missing.{0,20}reasoning_content/i;

const SYSTEM =
  /system role (is )?not supported|does not support 'system'|only user and assistant roles|system messages? (is|are) not/i;
const ORDER =
  /roles? must alternate|unexpected role|must be at the (beginning|start)|role .{0,40} (after|before) role|expected last role|message_order|turn comes immediately after|invalid (role|message) (order|sequence)|must be the first message/i;
const IDS =
  /tool.?call.?id (was|is|must|should).{0,120}(length|character)|tool_calls\[\d+\]\.id'?: string too long|tool_call_id'?: string too long/i;
const EMPTY_TEXT = /text content blocks must|non-empty (content|text)|content.{0,40}(is|be) (empty|non-empty)/i;
const NO_TEXT =
  /content.{0,80}(got null|not be null|<nil>|valid string|must be a string|is required|field required)|missing field .?content|content type: <nil>/is;

function ofMessages({ text }: Said, dialect: Dialect): Partial<Dialect> | undefined {
  const changes: [RegExp, Partial<Dialect>][] = [
    [SYSTEM, { order: 'no-system' }],
    [ORDER, dialect.order === 'any' ? { order: 'in-turn' } : {}],
    [IDS, { shortIds: true }],
    [EMPTY_TEXT, { noText: SOME_TEXT }],
    [NO_TEXT, dialect.noText === null ? { noText: '' } : {}],
  ];
  return changes.find(([pattern, change]) => pattern.test(text) && isChange(change, dialect))?.[1];
}

function isChange(change: Partial<Dialect>, dialect: Dialect): boolean {
  return Object.entries(change).some(([key, value]) => dialect[key as keyof Dialect] !== value);
}

const SOME_TEXT = 'Calling tools.';
const TOO_MANY =
  /^[\w .:-]{0,100}?'?tools'? ?: (?:array too long.{0,60}maximum length|maximum number of items is) (\d+)/i;
const TOO_LONG =
  /^[\w .:-]{0,100}?Invalid '(?:tools|functions)\[\d+\]\.function\.description': string too long.{0,60}maximum length (\d+)/i;
/** Refusals of a tool's name rather than its schema. */
const NAME = /\b(?:function|custom|toolSpec)\.name\b|\]\.name\b|\bfunction name was\b/i;

/** Returns the limit that a refusal begins with, also behind the name of a gateway's error. */
function limitsIn({ words }: Said): Partial<Dialect> | undefined {
  const size = Number(TOO_MANY.exec(words)?.[1]);
  if (size > 0) return { maxTools: size };
  const length = Number(TOO_LONG.exec(words)?.[1]);
  return length > 0 ? { maxDescription: length } : undefined;
}

function ofTools(named: readonly ToolDefinition[], { text, reason }: Said, dialect: Dialect): Partial<Dialect> {
  const plain = NAME.test(text) ? undefined : inPlainForm(named, dialect);
  return plain ?? withoutTools(named, reason, dialect);
}

/** Number of schemas refused at once that switches all tools to the plain form. */
const MANY = 4;
/** Limit of remembered tools, oldest first to go: a server may change its tools with each run. */
const MAX_TOOLS_KEPT = 500;

/** Switches tools to the plain form. Returns undefined if they have it already. */
function inPlainForm(named: readonly ToolDefinition[], { plainTools }: Dialect): Partial<Dialect> | undefined {
  if (plainTools === 'all') return undefined;
  const textOf = (tool: ToolDefinition, isPlain: boolean): string => JSON.stringify(offeredTool(tool, { isPlain }));
  const isOther = (tool: ToolDefinition): boolean => textOf(tool, true) !== textOf(tool, false);
  const tried = named.filter((tool) => !plainTools.has(toolKey(tool)) && isOther(tool));
  if (tried.length >= MANY) return { plainTools: 'all' };
  if (tried.length === 0) return undefined;
  return { plainTools: new Set([...plainTools, ...tried.map(toolKey)].slice(-MAX_TOOLS_KEPT)) };
}

function withoutTools(named: readonly ToolDefinition[], reason: string, { tools }: Dialect): Partial<Dialect> {
  const omitted = named.map((tool) => [toolKey(tool), reason] as const);
  return { tools: new Map([...tools, ...omitted].slice(-MAX_TOOLS_KEPT)) };
}

const UNSUPPORTED =
  /unsupported|not supported|not support|unrecognized|unknown|not permitted|extra_forbidden|not allowed|only allowed/i;

function ofFields(
  { text, words, reason }: Said,
  request: ModelRequest,
  dialect: Dialect,
): Partial<Dialect> | undefined {
  const named = namedFields(text, request, dialect);
  const isLimit = named.some((name) => LIMITS.has(name));
  // A limit is renamed but never omitted.
  if (isLimit && !dialect.renamesLimit && UNSUPPORTED.test(words)) return { renamesLimit: true };
  const left = named.filter((name) => !LIMITS.has(name));
  if (left.length === 0) return undefined;
  return { fields: new Map([...dialect.fields, ...left.map((name) => [name, reason] as const)]) };
}

const LIMITS: ReadonlySet<string> = new Set(['max_tokens', 'max_completion_tokens']);
const STREAM =
  /['"`]stream['"`]|^stream$|not support stream|stream(ing|ed)? (is )?(not|n't) (supported|allowed|available)|tools with stream/im;

/** Fields that are not omitted as a whole: an answer without them is not what was asked for. */
const DEMANDED: ReadonlySet<string> = new Set(['tools', 'response_format', 'stop']);

/** Returns the fields of the request and its messages that a text names. */
function namedFields(text: string, request: ModelRequest, dialect: Dialect): readonly string[] {
  const sent = Object.keys(optionalFields(request, dialect)).filter((name) => !DEMANDED.has(name));
  const own = request.messages.flatMap((message) =>
    message.role === 'assistant' ? Object.keys(message.original?.fields ?? {}) : [],
  );
  return [...new Set([...sent, ...own])].filter(
    (name) => !dialect.fields.has(name) && (name === 'stream' ? STREAM.test(text) : isNamed(name, text)),
  );
}

function isNamed(name: string, text: string): boolean {
  const inCamelCase = name.replace(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase());
  return [name, inCamelCase].some((word) => {
    const at = text.indexOf(word);
    return at !== -1 && !/\w/.test(text[at - 1] ?? ' ') && !/\w/.test(text[at + word.length] ?? ' ');
  });
}

const SCHEMAS =
  /function\.parameters|(function|tool|json) schema|schema conversion|unrecognized schema|schema fields|input_schema|pattern must|grammar|\.tools\b.{0,60} of type|functiondeclaration/i;

/** Switches all tools to the plain form if a schema was refused without naming its tool. */
function ofSchemas({ tools }: ModelRequest, { plainTools }: Dialect): Partial<Dialect> | undefined {
  return tools.length > 0 && plainTools !== 'all' ? { plainTools: 'all' } : undefined;
}
