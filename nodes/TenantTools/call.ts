import { type IDataObject, type IExecuteFunctions, type ISupplyDataFunctions, NodeOperationError } from 'n8n-workflow';

import { readCredentials } from '../shared/credentials';
import { readEgress } from '../shared/egress';
import { summarize } from '../shared/errors';
import { reportWarnings } from '../shared/hints';
import type { Library } from '../shared/item';
import { logOf } from '../shared/log';
import { PROVIDERS } from '../shared/panel/provider';
import type { ToolsQuery } from './read-query';

type Context = ISupplyDataFunctions | IExecuteFunctions;
type Config = Parameters<Library['useRuntime']>[0];

/** Credentials that the node offers behind a switch, with the switch. */
const SWITCHED: Readonly<Record<string, string>> = {
  universalAiAgentVaultApi: 'useVaultKey',
  universalAiAgentSqlApi: 'useSqlRole',
  redis: 'useRedis',
};

/** The credentials of the node as the runtime's configuration. Rejects with INPUT_INVALID for a provider that is none. */
export async function readConfig(context: Context, library: Library): Promise<Config> {
  const { modelProvider, ...options } = (context.getNode().parameters.options ?? {}) as IDataObject;
  const provider = PROVIDERS.get(modelProvider);
  if (modelProvider !== undefined && provider === undefined) {
    throw new library.RuntimeError('INPUT_INVALID', { issues: 'Provider must be chosen' });
  }
  const uses = (type: string): boolean => type === provider || options[SWITCHED[type] ?? ''] === true;
  return readCredentials({ context, library, index: 0, uses });
}

interface Call {
  readonly tool: string;
  readonly arguments: IDataObject;
  readonly signal?: AbortSignal;
}

/** Result of a call, or its failure with what a model can make of it. */
export type Outcome = { readonly value: unknown; readonly error?: undefined } | { readonly error: Failure };
type Failure = ReturnType<typeof summarize>;

/** Calls a tool. Rejects where the execution was stopped: the agent is not to continue. */
export async function callTool(
  context: Context,
  { query, config, library }: { readonly query: ToolsQuery; readonly config: Config; readonly library: Library },
  call: Call,
): Promise<Outcome> {
  try {
    const asked = { ...query, ...call, egress: readEgress(context), logger: logOf(context) };
    const output = await library.useRuntime(config, ({ tools }) => tools.call(asked));
    reportWarnings(context, output.warnings ?? []);
    call.signal?.throwIfAborted();
    return output.isError ? { error: output.value as unknown as Failure } : { value: output.value };
  } catch (error) {
    if (call.signal?.aborted === true) throw new NodeOperationError(context.getNode(), 'The execution was stopped');
    return { error: summarize(error) };
  }
}
