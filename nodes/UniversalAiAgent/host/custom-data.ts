import type { IDataObject, IExecuteFunctions } from 'n8n-workflow';

import type { AgentResult } from '../../../runtime/host';
import { summaryOf } from '../operations/run-summary';

/** n8n complains of longer values in its log. */
const LONGEST = 255;

/** The same of a run that failed, as far as it came, and the code of its error. */
export function noteFailure(context: IExecuteFunctions, result: AgentResult | undefined, code: string): void {
  if (result !== undefined) noteRun(context, {}, result as unknown as IDataObject);
  note(context, { code });
}

/** The execution's own facts, by which n8n's list of executions can be filtered: those of its last item. Never fails a run. */
export function noteRun(context: IExecuteFunctions, task: IDataObject, result: IDataObject): void {
  const { tenant_id: tenant } = (task.meta ?? {}) as IDataObject;
  // n8n keeps what an item before has set, so there is always one.
  const run = (summaryOf([result]) ?? 'replayed').slice(0, LONGEST);
  // A try before may have failed.
  if (hasCode(context)) note(context, { code: 'none' });
  note(context, { tenant, tier: result.agent_tier, status: result.status, cost_usd: result.cost_usd, run });
}

function hasCode({ customData }: IExecuteFunctions): boolean {
  try {
    return customData.getAll().code !== undefined;
  } catch {
    // A host without such data.
    return false;
  }
}

function note({ customData }: IExecuteFunctions, facts: IDataObject): void {
  for (const [name, value] of Object.entries(facts)) {
    if (typeof value !== 'string' || value === '') continue;
    try {
      customData.set(name, value);
    } catch {
      // A host without such data, or a value that it does not take.
    }
  }
}
