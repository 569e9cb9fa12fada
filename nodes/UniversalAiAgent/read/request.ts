import { createHash } from 'node:crypto';

import type { IDataObject, IExecuteFunctions } from 'n8n-workflow';

import { readCallbacks } from '../../shared/callback-options';
import { isModelWritten } from '../../shared/callers/model-written';
import { readCredentials } from '../../shared/credentials';
import type { Library, TaskItem } from '../../shared/item';
import { readIdentity } from './identity';
import { readOptions } from './read-options';
import { readSetting, typedSetting } from './settings';
import { isToolVariant } from './tool-variant';

type Config = Parameters<Library['useRuntime']>[0];

/** Credentials that the node offers behind a switch, with the switch. */
const SWITCHED = { universalAiAgentVaultApi: 'useVaultKey', universalAiAgentSqlApi: 'useSqlRole' };

/** The credentials of an item as the runtime's configuration. A connected chat model needs no provider. */
export async function readConfig(item: TaskItem): Promise<Config> {
  const { context, library, index, options } = item;
  const isOpenAi = readSetting(item, 'modelProvider') === 'openAiCompatible';
  const switchedOn = Object.entries(SWITCHED).filter(([, name]) => usesAll(context) || options[name] === true);
  const used = new Set([
    isOpenAi ? 'openAiApi' : 'openRouterApi',
    ...switchedOn.map(([type]) => type),
    ...(usesRedis(context) ? ['redis'] : []),
  ]);
  const config = await readCredentials({ context, library, index, uses: (type) => used.has(type) });
  return config.redis === undefined ? config : { ...config, callbacks: readCallbacks(options) };
}

/** n8n gives no credential that the panel hides. The switch takes no expression, so it need not be evaluated. */
export function usesRedis(context: IExecuteFunctions): boolean {
  const node = context.getNode();
  return node.credentials?.redis !== undefined && (usesAll(context) || typedSetting(node, 'useRedis') === true);
}

/** Version 1 had no switches: it uses each credential that is chosen. */
function usesAll(context: IExecuteFunctions): boolean {
  return context.getNode().typeVersion === 1;
}

/** The task of one item: the item itself, or the node's fields. Options fill in what the item leaves open. */
export function readTask(item: TaskItem): IDataObject {
  const { context, library, index } = item;
  refuseUntrustedTenant(context, library);
  const isItem = readSetting(item, 'inputMode') === 'item';
  const options = readOptions(item.options, library);
  refuseTemplate(item, options, isItem);
  const task = isItem ? taskOfItem(context, index, options) : taskOfFields(item, options);
  return { ...task, task_id: task.task_id ?? makeTaskId(context, index, task) };
}

/** The id of an item's tenant; undefined for none. Throws what n8n throws for an expression that fails. */
export function readTenantId(item: TaskItem): string | undefined {
  const { context, index } = item;
  if (readSetting(item, 'inputMode') !== 'item') return locatedText(context.getNodeParameter('tenantId', index, ''));
  const { meta } = context.getInputData()[index]?.json ?? {};
  return locatedText((meta as IDataObject | undefined)?.tenant_id);
}

function refuseUntrustedTenant(context: IExecuteFunctions, library: Library): void {
  if (!isToolVariant(context)) return;
  const node = context.getNode();
  // By what was typed in: an expression could still become `item`.
  const inputMode = typedSetting(node, 'inputMode') ?? 'fields';
  if (inputMode !== 'fields' || isModelWritten(node.parameters.tenantId)) {
    throw new library.RuntimeError('TENANT_UNTRUSTED');
  }
  // Another agent may have more tools, and another session is somebody else's.
  const { agent, sessionId } = node.parameters;
  const written = isModelWritten(agent) ? 'Agent' : isModelWritten(sessionId) ? 'Session ID' : undefined;
  if (written === undefined) return;
  throw new library.RuntimeError('INPUT_INVALID', { issues: `${written} must not be what a model can write` });
}

function taskOfItem(context: IExecuteFunctions, index: number, options: IDataObject): IDataObject {
  // What the trigger says of the delivery is no part of the task.
  const { delivery: _delivery, ...task } = context.getInputData()[index]?.json ?? {};
  const config = task.config as IDataObject | null | undefined;
  const isAgent = task.task_type === undefined || task.task_type === 'ai_agent';
  // What is no object is left as it is, so that the runtime can say so.
  return isAgent && typeof config === 'object' && config !== null
    ? { ...task, config: { ...options, ...config } }
    : task;
}

function taskOfFields(item: TaskItem, options: IDataObject): IDataObject {
  const { context, library, index } = item;
  const read = (name: string): unknown => context.getNodeParameter(name, index, '');
  const prompt = promptOf(read('systemPrompt'));
  return {
    config: {
      ...options,
      ...(prompt.includes('{{') && isExpression(context, 'systemPrompt') ? { system_prompt_is_template: false } : {}),
      agent: given(locatedText(read('agent'))),
      agent_tier: given(read('tier')),
      mode: given(read('mode'), 'direct'),
      session_id: given(read('sessionId')),
      system_prompt: prompt,
      message: promptOf(isFromChat(context) ? context.getInputData()[index]?.json.chatInput : read('message')),
      context: readContext(library, readSetting(item, 'context')),
    },
    meta: { tenant_id: locatedText(read('tenantId')), ...readIdentity(item) },
  };
}

/** Returns undefined for a field that is empty, or says what holds anyway. */
function given(value: unknown, standard = ''): string | undefined {
  return value === '' || value === standard ? undefined : (value as string);
}

/** Reports whether n8n fills the field: the text that it returns must not be read as a template again. */
function isExpression(context: IExecuteFunctions, parameter: string): boolean {
  const typed = context.getNode().parameters[parameter];
  return typeof typed === 'string' && typed.startsWith('=');
}

/** Rejects templates that a user or a model may have written: what a chat, an item or an expression returns. */
function refuseTemplate(
  { context, library }: TaskItem,
  { message_is_template: isTemplate }: IDataObject,
  isItem: boolean,
): void {
  const isOwn = !isItem && !isFromChat(context) && !isExpression(context, 'message');
  if (isTemplate !== true || isOwn) return;
  const issues =
    'Input: Fill Variables in Message needs a message that you typed in: a chat, an item or an expression may hold what a user wrote';
  throw new library.RuntimeError('INPUT_INVALID', { issues });
}

/** The source takes no expression, so n8n need not be asked. */
function isFromChat(context: IExecuteFunctions): boolean {
  return context.getNode().parameters.promptType === 'auto';
}

/** An expression may give an object or a number, which n8n's AI Agent shows to the model as JSON. */
function promptOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The picker gives an object, an expression a plain value. */
function locatedText(located: unknown): string {
  const value = typeof located === 'object' && located !== null ? (located as { value?: unknown }).value : located;
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

function readContext(library: Library, context: unknown): IDataObject | undefined {
  if (context === '' || context === null || context === undefined) return undefined;
  const value = typeof context === 'string' ? parseContext(library, context) : (context as IDataObject);
  // The parameter's default is an empty object, which says nothing to a model.
  return isEmptyObject(value) ? undefined : value;
}

function parseContext(library: Library, context: string): IDataObject {
  try {
    return library.parseExactly(context) as IDataObject;
  } catch (error) {
    throw new library.RuntimeError('CONTEXT_INVALID', { reason: (error as Error).message });
  }
}

function isEmptyObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && JSON.stringify(value) === '{}';
}

/**
 * The same for every try of the same item in the same execution, so that Retry on Fail replays what was done,
 * and another one for any other request.
 */
function makeTaskId(context: IExecuteFunctions, itemIndex: number, task: IDataObject): string {
  const digest = createHash('sha256').update(JSON.stringify(task)).digest('hex').slice(0, 16);
  const { $runIndex } = context.getWorkflowDataProxy(itemIndex) as unknown as { $runIndex: number };
  return ['n8n', context.getExecutionId(), context.getNode().id, $runIndex, itemIndex, digest].join(':');
}
