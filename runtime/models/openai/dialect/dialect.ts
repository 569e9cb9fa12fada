import { createHash } from 'node:crypto';

import { LRUCache } from 'lru-cache';

import type { ModelRequest, Reduction } from '../../../contracts/model';
import type { ToolDefinition } from '../../../contracts/tools/tool-shapes';
import { takesPlainOnly } from '../../tool-schema/offered-tool';

/** How requests to one model differ from the usual form. Immutable. */
export interface Dialect {
  /** Omitted fields of requests and messages, with the provider's reason; empty if known beforehand. */
  readonly fields: ReadonlyMap<string, string>;
  /** Omitted tools by `toolKey`, with the provider's reason. */
  readonly tools: ReadonlyMap<string, string>;
  /** Tools whose schemas are sent in the plain form, by `toolKey`. */
  readonly plainTools: ReadonlySet<string> | 'all';
  /** Maximum number of tools. */
  readonly maxTools: number;
  /** Maximum length of a tool's description in characters. */
  readonly maxDescription: number;
  /** Swaps `max_tokens` and `max_completion_tokens`. */
  readonly renamesLimit: boolean;
  /**
   * Order of messages. `in-turn`: one system message at the top, then user and assistant alternate, as many chat templates
   * require. `no-system`: in turn, with the system prompt in the first user message.
   */
  readonly order: 'any' | 'in-turn' | 'no-system';
  /** Content of assistant messages without text. */
  readonly noText: string | null;
  /** Shortens tool call ids to nine letters and digits, as Mistral requires. */
  readonly shortIds: boolean;
}

export const USUAL: Dialect = {
  fields: new Map(),
  tools: new Map(),
  plainTools: new Set(),
  maxTools: Infinity,
  maxDescription: Infinity,
  renamesLimit: false,
  order: 'any',
  noText: null,
  shortIds: false,
};

const toolKeys = new WeakMap<ToolDefinition, string>();

/** Returns a digest of the whole definition, so that a corrected tool is another one. */
export function toolKey(tool: ToolDefinition): string {
  const known = toolKeys.get(tool);
  if (known !== undefined) return known;
  const { name, description, inputSchema } = tool;
  const key = createHash('sha256')
    .update(JSON.stringify([name, description, inputSchema]))
    .digest('base64url');
  toolKeys.set(tool, key);
  return key;
}

/** The dialects learned for each model and tenant. */
export interface Dialects {
  readonly of: (request: ModelRequest) => Dialect;
  readonly keep: (request: ModelRequest, dialect: Dialect) => void;
}

/** Lifetime of a learned dialect, since providers change. */
const KEPT_MS = 60 * 60 * 1000;
const MAX_KEPT = 1000;

export function createDialects(): Dialects {
  const learned = new LRUCache<string, Dialect>({ max: MAX_KEPT, ttl: KEPT_MS, noUpdateTTL: true });
  // What one tenant's tools make a provider answer must not change another tenant's requests.
  const keyOf = ({ modelId, tenantId = '' }: ModelRequest): string => `${tenantId} ${modelId}`;
  return {
    of: (request) => learned.get(keyOf(request)) ?? knownBeforehand(request.modelId),
    keep: (request, dialect) => void learned.set(keyOf(request), dialect),
  };
}

/** Gemini API: function declarations take a part of JSON Schema. */
const GEMINI: Dialect = { ...USUAL, plainTools: 'all' };
/** OpenAI: reasoning models do not support `parallel_tool_calls`. */
const REASONING: Dialect = { ...USUAL, fields: new Map([['parallel_tool_calls', '']]) };

function knownBeforehand(modelId: string): Dialect {
  if (takesPlainOnly(modelId)) return GEMINI;
  return /(?:^|\/)o\d/.test(modelId) ? REASONING : USUAL;
}

/** Returns the tools that are sent. */
export function toolsIn({ tools, maxTools }: Dialect, offered: readonly ToolDefinition[]): readonly ToolDefinition[] {
  const kept = tools.size === 0 ? offered : offered.filter((tool) => !tools.has(toolKey(tool)));
  return kept.length > maxTools ? kept.slice(0, maxTools) : kept;
}

/** Fields without effect on the answer. Their omission is reported once, when it is learned. */
const SILENT: ReadonlySet<string> = new Set(['stream', 'stream_options', 'parallel_tool_calls']);
const MAX_NAMES = 10;

/** Returns the omitted parts of a request to report. `before`: the dialect before this request. */
export function reductionsOf(dialect: Dialect, request: ModelRequest, before: Dialect): readonly Reduction[] {
  return [
    ...omittedTools(dialect, request),
    ...omittedFields(dialect, request, before),
    ...surplusTools(dialect, request),
  ];
}

function omittedTools({ tools }: Dialect, request: ModelRequest): readonly Reduction[] {
  if (tools.size === 0) return [];
  return request.tools.flatMap((tool) => {
    const reason = tools.get(toolKey(tool));
    return reason === undefined ? [] : [{ what: `tool "${tool.name}"`, reason }];
  });
}

function omittedFields({ fields }: Dialect, request: ModelRequest, before: Dialect): readonly Reduction[] {
  return [...fields]
    .filter(([name, reason]) => reason !== '' && (before.fields.get(name) === undefined || isMissed(name, request)))
    .map(([name, reason]) => ({ what: `"${name}"`, reason }));
}

function surplusTools(dialect: Dialect, request: ModelRequest): readonly Reduction[] {
  const { maxTools } = dialect;
  const offered = request.tools.length > maxTools ? toolsIn({ ...dialect, maxTools: Infinity }, request.tools) : [];
  const surplus = offered.slice(maxTools).map(({ name }) => name);
  if (surplus.length === 0) return [];
  const names = `${surplus.slice(0, MAX_NAMES).join(', ')}${surplus.length > MAX_NAMES ? ', …' : ''}`;
  return [{ what: `${surplus.length} tools (${names})`, reason: `it takes ${maxTools} at the most` }];
}

function isMissed(name: string, { temperature, tools, toolChoice }: ModelRequest): boolean {
  if (SILENT.has(name)) return false;
  if (name === 'temperature') return temperature !== undefined;
  return name === 'tool_choice' && tools.length > 0 && toolChoice !== 'auto';
}
