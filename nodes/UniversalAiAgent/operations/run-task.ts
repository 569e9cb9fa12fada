import type { IDataObject } from 'n8n-workflow';

import type { RunOptions, Runtime } from '../../../runtime/host';
import { isFinalFailure, tellOfRetries } from '../../shared/delivery';
import { readEgress } from '../../shared/egress';
import { type Item, type ItemOutcome, type TaskItem, withOptions } from '../../shared/item';
import { logOf } from '../../shared/log';
import { readConnected } from '../host/connected';
import { hasConnectedModel } from '../host/connected-model';
import { noteRun } from '../host/custom-data';
import { readMcpServers } from '../read/mcp-servers';
import { readConfig, readTask, usesRedis } from '../read/request';
import { toJson, toReportItem } from './result';
import { withSteps } from './steps';

/** Runs the task of an item now. Where the task has a callback, or is of another type, its answer is written there too. */
export async function runTask(given: Item): Promise<ItemOutcome> {
  const item = withOptions(given);
  const { context, library, index } = item;
  const [config, mcpServers, connected] = await Promise.all([
    readConfig(item),
    readMcpServers(context, index),
    readConnected(item),
  ]);
  return library.useRuntime(config, async (runtime) => {
    const task = readTask(item);
    const options: RunOptions = {
      signal: context.getExecutionCancelSignal(),
      fresh: context.getMode() === 'manual',
      mcpServers,
      egress: readEgress(context),
      logger: logOf(context),
      connected,
      ...(item.onEvent === undefined ? {} : { onEvent: item.onEvent, stream: true }),
    };
    if (item.options.writeCallback === false) delete task.callback;
    if (isAnswered(item, task) || isOfOtherType(task)) return handle({ item, runtime, task }, options);
    const { asked, shown } = withSteps(context, task);
    const result = await runtime.run(asked, options);
    const json = shown(toJson(result, hasConnectedModel(context)));
    noteRun(context, task, json);
    const { messages } = (task.config ?? {}) as IDataObject;
    const isKnown = [connected.memory, result.session_id, conversationIn(messages)].some((one) => one !== undefined);
    return {
      item: { json, pairedItem: { item: index } },
      warnings: result.warnings,
      isForgotten: !isKnown && isOfChat(item),
    };
  });
}

/** An expression may find no conversation. */
function conversationIn(messages: unknown): unknown {
  return Array.isArray(messages) && messages.length > 0 ? messages : undefined;
}

/** Chat triggers give both. */
function isOfChat({ context, index }: TaskItem): boolean {
  const { chatInput, sessionId } = context.getInputData()[index]?.json ?? {};
  return context.getNode().typeVersion > 1 && typeof chatInput === 'string' && sessionId !== undefined;
}

/**
 * Whether the answer is to be written to the callback. Without Redis a task of the trigger fails, for nobody else answers
 * it; a workflow that only passes tasks on goes on, and its result says what was not written.
 */
function isAnswered({ context, index }: TaskItem, task: IDataObject): boolean {
  if (!hasCallback(task)) return false;
  return usesRedis(context) || context.getInputData()[index]?.json.delivery !== undefined;
}

function hasCallback({ callback }: IDataObject): boolean {
  return typeof callback === 'object' && callback !== null && Object.keys(callback).length > 0;
}

function isOfOtherType({ task_type: type }: IDataObject): boolean {
  return type !== undefined && type !== null && type !== 'ai_agent';
}

interface Handling {
  readonly item: TaskItem;
  readonly runtime: Runtime;
  readonly task: IDataObject;
}

async function handle(handling: Handling, options: RunOptions): Promise<ItemOutcome> {
  const { item, runtime, task } = handling;
  const report = await runtime.handle(task, options).catch(async (error: unknown) => {
    if (hasCallback(task) && isFinalFailure(item, error)) await deliverFailure(handling, error, options);
    // After the delivery, which is not to say so.
    tellOfRetries(item, error);
    throw error;
  });
  const outcome = toReportItem(report, item.index, hasConnectedModel(item.context));
  noteRun(item.context, task, outcome.item.json);
  return outcome;
}

/** The failure itself matters more than that it could not be delivered. */
async function deliverFailure(
  { item, runtime, task }: Handling,
  error: unknown,
  { egress }: RunOptions,
): Promise<void> {
  try {
    await runtime.deliverFailure(task, error, { egress });
  } catch (problem) {
    const { message } = problem as Error;
    item.context.logger.error(`The failure of a task was not delivered: ${message}`, { taskId: task.task_id });
  }
}
