import { isJsonObject, type JsonObject, type JsonValue, objectsIn } from '../../../util/json';
import { words } from '../../../util/text/words';

/** What n8n's public API takes for a node and for the settings of a workflow; it refuses everything else. */
const NODE_KEYS = words(`
  id name webhookId disabled notesInFlow notes type typeVersion executeOnce alwaysOutputData
  retryOnFail maxTries waitBetweenTries continueOnFail onError position parameters credentials
`);
const SETTING_KEYS = words(`
  saveExecutionProgress saveManualExecutions saveDataErrorExecution saveDataSuccessExecution
  executionTimeout errorWorkflow timezone executionOrder callerPolicy callerIds timeSavedMode
  timeSavedPerExecution redactionPolicy availableInMCP
`);
const SUFFIX = ' (migrated)';
const MAX_NAME_CHARS = 128;
const STICKY = 'n8n-nodes-base.stickyNote';
const MARK = 'Made by migrate-workflow from workflow ';

/** The name of the copy of a workflow. */
export function copyName(name: string): string {
  // Half a character at the cut would be refused.
  return name.slice(0, MAX_NAME_CHARS - SUFFIX.length).replace(/[\uD800-\uDBFF]$/, '') + SUFFIX;
}

/** True for a copy that was made of this workflow, or of any when no id is given. */
export function isCopy({ nodes }: JsonObject, id?: string): boolean {
  const mark = id === undefined ? MARK : markOf(id);
  return objectsIn(nodes).some(({ type, parameters }) => type === STICKY && contentOf(parameters).includes(mark));
}

/** The body for POST /workflows: a new, inactive workflow, marked with the id of its original in a sticky note. */
export function copyOf(original: JsonObject, migrated: JsonObject, id: string): JsonObject {
  const before = new Set(objectsIn(original.nodes).map(({ name }) => name));
  const nodes = objectsIn(migrated.nodes);
  const note = nodes.find(({ type, name }) => type === STICKY && !before.has(name)) ?? ownNote(before);
  const rest = nodes.filter((node) => node !== note);
  const { pinData } = migrated;
  return {
    name: copyName(textOf(original.name)),
    nodes: [...rest, marked(note, id)].map((node) => pick(node, NODE_KEYS)),
    connections: migrated.connections ?? {},
    settings: pick(isJsonObject(migrated.settings) ? migrated.settings : {}, SETTING_KEYS),
    ...(isJsonObject(pinData) && Object.keys(pinData).length > 0 ? { pinData } : {}),
  };
}

const markOf = (id: string): string => `${MARK}\`${id}\``;

function marked(note: JsonObject, id: string): JsonObject {
  const content = `${contentOf(note.parameters)}\n\n${markOf(id)}`.trim();
  return { ...note, parameters: { ...(isJsonObject(note.parameters) ? note.parameters : {}), content } };
}

function ownNote(taken: ReadonlySet<JsonValue | undefined>): JsonObject {
  let name = 'Migrated';
  while (taken.has(name)) name += ' 1';
  return { id: `migrated-note`, name, type: STICKY, typeVersion: 1, position: [0, -240], parameters: {} };
}

function contentOf(parameters: JsonValue | undefined): string {
  return isJsonObject(parameters) && typeof parameters.content === 'string' ? parameters.content : '';
}

/** A name or id as a text; n8n's own are nothing else. */
export function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? '');
}

/** Null stands for what was never set, and is refused. */
function pick(value: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(
    keys.flatMap((key) => (value[key] === undefined || value[key] === null ? [] : [[key, value[key]]])),
  );
}
