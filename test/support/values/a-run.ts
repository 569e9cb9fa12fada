import type { ToolRun } from '../../../runtime/contracts/tools/tool-run';

/** A run for tools that neither look at it nor spend anything. */
export const A_RUN: ToolRun = {
  key: { tenantId: 'tenant', taskId: 'task', runId: 'run' },
  startChild: () => Promise.reject(new Error('nothing is started here')),
  account: {
    reserve: () => Promise.reject(new Error('nothing is spent here')),
    charge: () => Promise.reject(new Error('nothing is spent here')),
    spent: () => ({ costUsd: '0', tokens: 0 }),
  },
};
