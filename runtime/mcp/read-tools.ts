import type { McpListedTool, McpServer, McpTool } from '../contracts/tools/mcp';
import { describeError, type ErrorSummary } from '../errors/runtime-error';
import { errorText } from '../errors/to-runtime-error';
import { isDeeperThan, isJsonObject, type JsonObject } from '../util/json';
import { turn } from '../util/turn';
import type { ListedTool } from './connection';

/** More than any model can choose from; a server with more should be narrowed down by name. */
const MAX_TOOLS = 256;
const MAX_NAME_CHARS = 200;
const MAX_DESCRIPTION_CHARS = 16_384;
const MAX_SCHEMA_CHARS = 65_536;
/** The most characters of a whole list, without what is refused: it is stored, and read again before each run. */
const MAX_LIST_CHARS = 1_000_000;
/** Each schema takes a look, also one that is refused for it. */
const MAX_UNUSABLE = 100;
const MAX_SCHEMA_DEPTH = 64;
/** NUL and halves of characters, as JSON writes them. */
const UNSTORABLE = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f][0-9a-f]{2})/i;
const NAMES_IN_WARNING = 5;

export interface ReadTools {
  /** The server could not be asked. */
  readonly isFailure?: true;
  readonly tools: readonly McpTool[];
  readonly warnings: readonly ErrorSummary[];
}

/** Rejects with an Error for a schema that is none, or so large that nobody could use it. */
export type CheckSchema = (schema: JsonObject) => Promise<void> | void;

/** What of a server's list can be offered. The rest is named in at most one warning a reason. */
export async function readTools(
  server: McpServer,
  listed: readonly ListedTool[],
  checkSchema: CheckSchema,
): Promise<ReadTools> {
  const skipped = new Map<string, string[]>();
  const tools = new Map<string, McpTool>();
  const read = createToolReader(checkSchema);
  for (const given of listed) {
    await turn();
    if (!isWanted(server, given.name)) continue;
    const tool = tools.has(given.name) ? 'their names come twice' : await read(given);
    if (typeof tool === 'string') remember(skipped, tool, given.name);
    else tools.set(tool.name, tool);
  }
  return {
    tools: [...tools.values()],
    warnings: [...skipped].map(([reason, names]) =>
      describeError('MCP_TOOLS_SKIPPED', {
        server: server.name,
        count: names.length,
        tools: nameSome(names),
        reason,
      }),
    ),
  };
}

/** The tools that a run may have: still wanted, and not waiting for approval. */
export function offeredTools(server: McpServer, known: readonly McpListedTool[]): ReadTools {
  const wanted = known.filter(({ name }) => isWanted(server, name));
  const waiting = wanted.filter(({ isQuarantined }) => isQuarantined).map(({ name }) => name);
  return {
    tools: wanted.filter(({ isQuarantined }) => !isQuarantined),
    warnings:
      waiting.length === 0
        ? []
        : [
            describeError('MCP_TOOLS_QUARANTINED', {
              server: server.name,
              count: waiting.length,
              tools: nameSome(waiting),
            }),
          ],
  };
}

/** An empty list of tools to include means none. */
function isWanted({ includeTools, excludeTools }: McpServer, name: string): boolean {
  return (includeTools?.includes(name) ?? true) && !excludeTools.includes(name);
}

/** Gives each tool of a list, or why it cannot be offered. */
function createToolReader(checkSchema: CheckSchema): (tool: ListedTool) => Promise<McpTool | string> {
  let count = 0;
  let chars = 0;
  let unusableCount = 0;
  let unusable: string | undefined;
  return async (given) => {
    const fault = findFault(given);
    if (fault !== undefined) return fault;
    if (count >= MAX_TOOLS) return `only the first ${MAX_TOOLS} of a server are`;
    const tool = toMcpTool(given);
    const length = tool.description.length + JSON.stringify(tool.inputSchema).length;
    if (chars + length > MAX_LIST_CHARS) return `the list is longer than ${MAX_LIST_CHARS} characters`;
    if (unusableCount >= MAX_UNUSABLE) return `they come after ${MAX_UNUSABLE} whose schemas cannot be used`;
    try {
      await checkSchema(tool.inputSchema);
    } catch (error) {
      unusableCount++;
      // What is wrong with the first stands for all: a hostile list has thousands of reasons.
      return (unusable ??= `their schemas cannot be used (${errorText(error)})`);
    }
    count++;
    chars += length;
    return tool;
  };
}

function findFault({ name, description = '', inputSchema, isFaulty }: ListedTool): string | undefined {
  if (isFaulty === true) return 'they have no name, or no object schema';
  const fault = faultOfName(name);
  if (fault !== undefined) return fault;
  if (description.length > MAX_DESCRIPTION_CHARS) return `their descriptions are longer than ${MAX_DESCRIPTION_CHARS}`;
  if (!isJsonObject(inputSchema)) return 'their schemas are not objects';
  if (isDeeperThan(inputSchema, MAX_SCHEMA_DEPTH)) return `their schemas are deeper than ${MAX_SCHEMA_DEPTH} levels`;
  const text = JSON.stringify(inputSchema);
  if (text.length > MAX_SCHEMA_CHARS) return `their schemas are longer than ${MAX_SCHEMA_CHARS}`;
  if (UNSTORABLE.test(text)) return 'their schemas hold characters that no database can store';
  return undefined;
}

function faultOfName(name: string): string | undefined {
  if (name === '' || name.length > MAX_NAME_CHARS) return `their names are empty or longer than ${MAX_NAME_CHARS}`;
  return /\p{C}/u.test(name) ? 'their names hold control characters' : undefined;
}

function toMcpTool({ name, description, inputSchema, annotations }: ListedTool): McpTool {
  return {
    name,
    // Control characters can hide text from people who read the description.
    description: (description ?? name).replace(/[\p{Cc}\p{Cs}]/gu, (char) => (/[\n\t]/.test(char) ? char : ' ')),
    inputSchema: withDefaults(inputSchema),
    isReadOnly: annotations?.readOnlyHint === true,
    isRepeatable: annotations?.readOnlyHint === true || annotations?.idempotentHint === true,
  };
}

/** Providers refuse the whole request for one tool whose schema lacks `properties`. */
function withDefaults(schema: JsonObject): JsonObject {
  return { ...schema, type: 'object', properties: schema.properties ?? {} };
}

function remember(skipped: Map<string, string[]>, reason: string, name: string): void {
  const names = skipped.get(reason);
  if (names === undefined) skipped.set(reason, [name]);
  else names.push(name);
}

/** The first few names, printable; a hostile list may have thousands. */
function nameSome(names: readonly string[]): string {
  const shown = names
    .slice(0, NAMES_IN_WARNING)
    .map((name) => (name || '(no name)').replace(/\p{C}/gu, '?').slice(0, 80));
  return names.length > shown.length ? `${shown.join(', ')}, …` : shown.join(', ');
}
