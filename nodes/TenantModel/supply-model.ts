import {
  type IDataObject,
  type INode,
  type ISupplyDataFunctions,
  NodeConnectionTypes,
  type SupplyData,
} from 'n8n-workflow';

import type * as RuntimeLibrary from '../../runtime/host';
import { type Caller, callerOf, taskOf } from '../shared/callers/caller';
import { internals } from '../shared/callers/engine-request';
import { located, readOfItems, textOf } from '../shared/callers/read-of-items';
import { readCredentials } from '../shared/credentials';
import { summarize, toTextError } from '../shared/errors';
import { hostModule } from '../shared/host-modules';
import type { Library } from '../shared/item';
import { identityOf } from '../shared/panel/identity';
import { PROVIDERS } from '../shared/panel/provider';
import { answerRequests } from './answer-requests';
import { callInLogs, type CallQuery } from './call-in-logs';

/** Type of the line of the bill. */
const TASK_TYPE = 'tenant_model';
/** Address that nobody can be asked at: requests are answered by `fetch`. */
const NOWHERE = 'http://tenant-model.invalid/v1';

/** The tenant's model as an object of n8n's own class, which takes care of messages and tools. Throws the error of a sub-node. */
export async function supplyModel(context: ISupplyDataFunctions): Promise<SupplyData> {
  // Loaded with the first run: n8n loads this file at every start, also where the node is never used.
  const library: typeof RuntimeLibrary = await import('../../runtime/host');
  try {
    const caller = callerOf(context);
    refuseOwnAgent(context, caller, library);
    const query = await readQuery(context, caller, library);
    const { modelProvider = 'openRouter' } = optionsOf(context);
    const provider = PROVIDERS.get(modelProvider);
    if (provider === undefined) throw new library.RuntimeError('INPUT_INVALID', { issues: 'Provider must be chosen' });
    const config = await readCredentials({ context, library, index: 0, uses: (type) => type === provider });
    const call = callInLogs(context, { library, config, query });
    return { response: chatModel(answerRequests(call), library) };
  } catch (error) {
    // n8n shows the message of a sub-node, and nothing else of its error.
    throw toTextError(context.getNode(), summarize(error));
  }
}

/** Our own agent asks the models of the tenant itself, and would bill the same call again. Other nodes may hand it on. */
function refuseOwnAgent(context: ISupplyDataFunctions, { node }: Caller, library: Library): void {
  if (node === undefined) return;
  const takers = [node, ...takersOf(context, node)];
  if (takers.some(({ type }) => type.startsWith(OURS))) throw new library.RuntimeError('MODEL_BILLED_TWICE');
}

const OURS = 'n8n-nodes-universal-ai-agent.';

/** The nodes that a node gives a model to, and those behind them. */
function takersOf(context: ISupplyDataFunctions, { name }: INode): readonly INode[] {
  const { workflow } = internals(context);
  const names = workflow.getChildNodes(name, NodeConnectionTypes.AiLanguageModel);
  return names.flatMap((one) => workflow.getNode(one) ?? []);
}

function optionsOf(context: ISupplyDataFunctions): IDataObject {
  return (context.getNode().parameters.options ?? {}) as IDataObject;
}

async function readQuery(context: ISupplyDataFunctions, caller: Caller, library: Library): Promise<CallQuery> {
  const { tenantId, tier } = context.getNode().parameters as IDataObject;
  const { identity, modelOverride, temperature, maxTokens } = optionsOf(context);
  const typed = {
    ...(identity as IDataObject | undefined),
    ...{ tenantId: located(tenantId), tier, modelOverride, temperature, maxTokens },
  };
  const read = await readOfItems({ context, caller, library }, typed);
  const task = taskOf(context, caller, TASK_TYPE);
  return {
    tenantId: textOf(read.tenantId) ?? '',
    tier: nameOf(read.tier),
    modelOverride: nameOf(read.modelOverride),
    temperature: numberOf(read.temperature),
    maxTokens: numberOf(read.maxTokens),
    meta: identityOf(read),
    // That of the tools which the same node calls is another line.
    task: task.id === undefined ? task : { ...task, id: `${task.id}:model` },
    signal: context.getExecutionCancelSignal(),
  };
}

function nameOf(given: unknown): string | undefined {
  const text = textOf(given);
  return text === '' ? undefined : text;
}

/** An expression gives a number as a text, too. What is none is for the runtime to refuse. */
function numberOf(given: unknown): number | undefined {
  return given === undefined || given === null || given === '' ? undefined : Number(given);
}

function chatModel(fetch: typeof globalThis.fetch, library: Library): object {
  const { ChatOpenAI } = hostModule('@langchain/openai') ?? {};
  if (typeof ChatOpenAI !== 'function') throw new library.RuntimeError('HOST_MODEL_MISSING');
  const fields = {
    // Names of models decide on the dialect there, which is settled here.
    ...{ model: 'tenant-model', apiKey: 'none', useResponsesApi: false, streamUsage: true },
    // What can be tried again has been.
    maxRetries: 0,
    configuration: { baseURL: NOWHERE, fetch },
  };
  return Reflect.construct(ChatOpenAI, [fields]) as object;
}
