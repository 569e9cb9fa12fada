import type { IDataObject, IExecuteFunctions } from 'n8n-workflow';

/** The execution's own facts, by which n8n's list of executions can be filtered: those of its last item. Never fails a run. */
export function noteRun({ customData }: IExecuteFunctions, task: IDataObject, result: IDataObject): void {
  const { tenant_id: tenant } = (task.meta ?? {}) as IDataObject;
  const facts = { tenant, tier: result.agent_tier, status: result.status, cost_usd: result.cost_usd };
  for (const [name, value] of Object.entries(facts)) {
    if (typeof value !== 'string' || value === '') continue;
    try {
      customData.set(name, value);
    } catch {
      // A host without such data, or a value that it does not take.
    }
  }
}
