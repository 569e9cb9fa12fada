import type { ModelRequest, Reduction } from '../../../contracts/model';
import type { ToolDefinition } from '../../../contracts/tools/tool';
import { monotonicMs } from '../../../util/clock';
import { takesPlainOnly } from '../../tool-schema/offered-tool';

/** What requests to one model leave out or say in another way. Never changed once made. */
export interface Dialect {
  /** Fields of the request and of messages that are left out, and the provider's reason; empty if known beforehand. */
  readonly fields: ReadonlyMap<string, string>;
  /** Tools that are left out, and the provider's reason, by `toolKey`. */
  readonly tools: ReadonlyMap<string, string>;
  /** Tools whose schemas are offered in the plain form, by `toolKey`; `all` for all of them. */
  readonly plainTools: ReadonlySet<string> | 'all';
  /** Number of tools that the provider takes. */
  readonly maxTools: number;
  /** Length of the description of a tool that the provider takes. */
  readonly maxDescription: number;
  /** The limit of tokens has its other name. */
  readonly renamesLimit: boolean;
  /**
   * Order of messages. `in-turn`, as chat templates demand it: one system message at the top, then user and assistant in turn.
   * `no-system`: in turn, and what the system message says stands in the first message of the user.
   */
  readonly order: 'any' | 'in-turn' | 'no-system';
  /** Text of messages that have calls but no text; null is the usual one. */
  readonly noText: string | null;
  /** Ids of calls are nine letters and digits, which is what Mistral takes. */
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

export function toolKey({ name, description, inputSchema }: ToolDefinition): string {
  return JSON.stringify([name, description, inputSchema]);
}

/** Remembers the dialects of models. */
export interface Dialects {
  readonly of: (modelId: string) => Dialect;
  readonly keep: (modelId: string, dialect: Dialect) => void;
}

/** Providers change, so that nothing is remembered for longer. */
const KEPT_MS = 60 * 60 * 1000;
const MAX_MODELS = 200;

export function createDialects(): Dialects {
  const learned = new Map<string, { readonly dialect: Dialect; readonly since: number }>();
  return {
    of: (modelId) => {
      const known = learned.get(modelId);
      if (known !== undefined && monotonicMs() - known.since < KEPT_MS) return known.dialect;
      learned.delete(modelId);
      return knownBeforehand(modelId);
    },
    keep: (modelId, dialect) => {
      const since = learned.get(modelId)?.since ?? monotonicMs();
      const [oldest] = learned.keys();
      if (learned.size >= MAX_MODELS && oldest !== undefined) learned.delete(oldest);
      learned.set(modelId, { dialect, since });
    },
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

/** Returns the tools of a request that are sent. */
export function toolsIn({ tools, maxTools }: Dialect, offered: readonly ToolDefinition[]): readonly ToolDefinition[] {
  const kept = tools.size === 0 ? offered : offered.filter((tool) => !tools.has(toolKey(tool)));
  return kept.length > maxTools ? kept.slice(0, maxTools) : kept;
}

/** Fields that change nothing of an answer when they are missing: told of only when that is found out. */
const SILENT: ReadonlySet<string> = new Set(['stream', 'stream_options', 'parallel_tool_calls']);
const MAX_NAMES = 10;

/** Returns what a request had to do without; of what changes no answer, only what `before` did not leave out. */
export function reductionsOf(dialect: Dialect, request: ModelRequest, before: Dialect): readonly Reduction[] {
  const tools = request.tools.flatMap((tool) => {
    const reason = dialect.tools.size === 0 ? undefined : dialect.tools.get(toolKey(tool));
    return reason === undefined ? [] : [{ what: `tool "${tool.name}"`, reason }];
  });
  const fields = [...dialect.fields]
    .filter(([name, reason]) => reason !== '' && (before.fields.get(name) === undefined || isMissed(name, request)))
    .map(([name, reason]) => ({ what: `"${name}"`, reason }));
  const surplus = request.tools.filter((tool) => !dialect.tools.has(toolKey(tool))).slice(dialect.maxTools);
  const names = surplus.slice(0, MAX_NAMES).map(({ name }) => name);
  const tooMany = {
    what: `${surplus.length} tools (${names.join(', ')}${surplus.length > MAX_NAMES ? ', …' : ''})`,
    reason: `it takes ${dialect.maxTools} at the most`,
  };
  return [...tools, ...fields, ...(surplus.length === 0 ? [] : [tooMany])];
}

function isMissed(name: string, { temperature, tools, toolChoice }: ModelRequest): boolean {
  if (SILENT.has(name)) return false;
  if (name === 'temperature') return temperature !== undefined;
  return name === 'tool_choice' && tools.length > 0 && toolChoice !== 'auto';
}
