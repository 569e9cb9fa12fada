import type { IDataObject, IExecuteFunctions, ISupplyDataFunctions } from 'n8n-workflow';

import { type Caller, taskOf } from '../shared/callers/caller';
import { isExpression } from '../shared/callers/model-written';
import { located, readOfItems, textOf } from '../shared/callers/read-of-items';
import type { Library } from '../shared/item';
import { identityOf } from '../shared/panel/identity';

type Tools = Parameters<Parameters<Library['useRuntime']>[1]>[0]['tools'];
/** Tenant and rules of the tools, whom calls are for, and the line of the bill. */
export type ToolsQuery = Parameters<Tools['offer']>[0] & Pick<Parameters<Tools['call']>[0], 'meta' | 'task'>;

/** Type of the line. */
const TASK_TYPE = 'tenant_tools';
/**
 * Reads the parameters for the items of the caller. Rejects with TENANT_UNTRUSTED where a model could have a say in one, with
 * ITEMS_DIFFER where the items do not agree, since n8n takes the tools of the first one for all of them, and with INPUT_INVALID.
 */
export async function readQuery(
  context: ISupplyDataFunctions | IExecuteFunctions,
  caller: Caller,
  library: Library,
): Promise<ToolsQuery> {
  const { tenantId, agent, tier, options } = context.getNode().parameters as IDataObject;
  const { identity, tools } = (options ?? {}) as IDataObject;
  const typed = {
    ...(identity as IDataObject | undefined),
    tenantId: located(tenantId),
    agent: located(agent),
    tier,
    tools,
  };
  const read = await readOfItems({ context, caller, library }, typed);
  return {
    tenantId: textOf(read.tenantId) ?? '',
    ...{ agent: ruleOf(read.agent, 'Agent', library), tier: ruleOf(read.tier, 'Tier', library) },
    allowed: listOf(read.tools, !isExpression(tools), library),
    isApproved: caller.review !== undefined,
    meta: identityOf(read),
    task: taskOf(context, caller, TASK_TYPE),
  };
}

/** Reads a value that narrows the tools: an expression that finds nothing would widen them. */
function ruleOf(value: unknown, name: string, library: Library): string | undefined {
  if (value === undefined || value === '') return undefined;
  const text = textOf(value);
  if (text !== undefined) return text;
  throw new library.RuntimeError('INPUT_INVALID', { issues: `${name}: the expression gives no text` });
}

function listOf(value: unknown, isTyped: boolean, library: Library): readonly string[] | undefined {
  if (value === undefined || (isTyped && Array.isArray(value) && value.length === 0)) return undefined;
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value;
  throw new library.RuntimeError('INPUT_INVALID', { issues: 'Offer Only: the expression gives no list of names' });
}
