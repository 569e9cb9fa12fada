import type { IDataObject, IExecuteFunctions } from 'n8n-workflow';

import { summaryOf } from '../operations/run-summary';

/** n8n complains of longer values in its log. */
const LONGEST = 255;

/** The execution's own facts, by which n8n's list of executions can be filtered: those of its last item. Never fails a run. */
export function noteRun({ customData }: IExecuteFunctions, task: IDataObject, result: IDataObject): void {
  const { tenant_id: tenant } = (task.meta ?? {}) as IDataObject;
  // n8n keeps what an item before has set, so there is always one.
  const run = (summaryOf([result]) ?? 'replayed').slice(0, LONGEST);
  const facts = { tenant, tier: result.agent_tier, status: result.status, cost_usd: result.cost_usd, run };
  for (const [name, value] of Object.entries(facts)) {
    if (typeof value !== 'string' || value === '') continue;
    try {
      customData.set(name, value);
    } catch {
      // A host without such data, or a value that it does not take.
    }
  }
}
