import type { ModelRequest } from '../../../contracts/model';
import type { ToolDefinition } from '../../../contracts/tools/tool';
import type { JsonValue } from '../../../util/json';
import { errorParts } from '../../../util/text/error-words';
import { offeredTool } from '../../tool-schema/offered-tool';
import { optionalFields } from '../request-body';
import { type Dialect, toolKey, toolsIn } from './dialect';
import { namedTools } from './named-tools';

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
  if (HOPELESS.test(text)) return undefined;
  const said = { ...refusal, text };
  const changes = [ofMessages, ofTools, ofFields, ofSchemas];
  for (const change of changes) {
    // llama.cpp answers 500 if the chat template fails.
    if (refusal.status >= 500 && change !== ofMessages) break;
    const changed = change(said, request, dialect);
    if (changed !== undefined) return { ...dialect, ...changed };
  }
  return undefined;
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

function ofMessages({ text }: Said, _request: ModelRequest, dialect: Dialect): Partial<Dialect> | undefined {
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
const TOO_MANY = /'?tools'? ?: (?:array too long.{0,60}maximum length|maximum number of items is) (\d+)/i;
const TOO_LONG = /\.description'?: string too long.{0,60}maximum length (\d+)/i;
/** Refusals of a tool's name rather than its schema. */
const NAME = /\b(?:function|custom|toolSpec)\.name\b|\]\.name\b|\bfunction name was\b/i;

function ofTools(said: Said, request: ModelRequest, dialect: Dialect): Partial<Dialect> | undefined {
  const { text, words, reason } = said;
  const size = limitOf(TOO_MANY, text, 'maxTools') ?? limitOf(TOO_LONG, text, 'maxDescription');
  if (size !== undefined && isChange(size, dialect)) return size;
  const isOfField = UNSUPPORTED.test(words) && namedFields(text, request, dialect).length > 0;
  const named = namedTools(text, toolsIn(dialect, request.tools), isOfField);
  if (named.length === 0) return undefined;
  const isOfSchema = !NAME.test(text);
  return (isOfSchema ? inPlainForm(named, dialect) : undefined) ?? withoutTools(named, reason, dialect);
}

function limitOf(pattern: RegExp, text: string, name: 'maxTools' | 'maxDescription'): Partial<Dialect> | undefined {
  const limit = Number(pattern.exec(text)?.[1]);
  return limit > 0 ? { [name]: limit } : undefined;
}

/** Number of schemas refused at once that switches all tools to the plain form. */
const MANY = 4;

/** Switches tools to the plain form. Returns undefined if they have it already. */
function inPlainForm(named: readonly ToolDefinition[], { plainTools }: Dialect): Partial<Dialect> | undefined {
  if (plainTools === 'all') return undefined;
  const textOf = (tool: ToolDefinition, isPlain: boolean): string => JSON.stringify(offeredTool(tool, { isPlain }));
  const isOther = (tool: ToolDefinition): boolean => textOf(tool, true) !== textOf(tool, false);
  const tried = named.filter((tool) => !plainTools.has(toolKey(tool)) && isOther(tool));
  if (tried.length >= MANY) return { plainTools: 'all' };
  return tried.length === 0 ? undefined : { plainTools: new Set([...plainTools, ...tried.map(toolKey)]) };
}

function withoutTools(named: readonly ToolDefinition[], reason: string, { tools }: Dialect): Partial<Dialect> {
  return { tools: new Map([...tools, ...named.map((tool) => [toolKey(tool), reason] as const)]) };
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

/** Returns the fields of the request and its messages that a text names. */
function namedFields(text: string, request: ModelRequest, dialect: Dialect): readonly string[] {
  const sent = Object.keys(optionalFields(request, dialect)).filter((name) => name !== 'tools');
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
function ofSchemas({ text }: Said, { tools }: ModelRequest, { plainTools }: Dialect): Partial<Dialect> | undefined {
  return tools.length > 0 && plainTools !== 'all' && SCHEMAS.test(text) ? { plainTools: 'all' } : undefined;
}
