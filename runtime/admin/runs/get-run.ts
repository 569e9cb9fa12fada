import * as z from 'zod/v4';

import type { AgentResult } from '../../contracts/result';
import { RuntimeError } from '../../errors/runtime-error';
import {
  type ChildRunEntry,
  getRun as getStatement,
  listChildRuns,
  listModelCalls,
  type ModelCallEntry,
  type RunEntry,
} from '../../storage/sql/admin/list-runs';
import { listExecutionsStatement } from '../../storage/sql/list-executions';
import { parseExactly } from '../../util/exact-integer';
import type { JsonObject } from '../../util/json';
import { strictObject } from '../../util/known-keys';
import { checkTenant } from '../check-tenant';
import { operation } from '../operation';
import { tenantIdField } from '../read-input';

export const getRun = operation({
  name: 'run.get',
  title: 'Get',
  action: 'Get a run',
  description: 'Its result, model calls and tool calls, and the runs of the agents that it has asked',
  input: strictObject({
    tenantId: tenantIdField,
    id: z.string().min(1).max(200).meta({ title: 'Run or Task ID', placeholder: '{{ $json.run_id }}' }),
  }),
  run: async ({ postgres: { query } }, given) => {
    const { tenantId } = given;
    await checkTenant(query, tenantId);
    const [run] = await query<RunEntry & { result: string | null }>(getStatement(given));
    if (run === undefined) throw new RuntimeError('RUN_NOT_FOUND', given);
    const [modelCalls, toolCalls, children] = await Promise.all([
      query<ModelCallEntry>(listModelCalls({ tenantId, taskId: run.task_id })),
      query<JsonObject>(listExecutionsStatement(tenantId, run.task_id)),
      query<ChildRunEntry>(listChildRuns({ tenantId, taskId: run.task_id })),
    ]);
    const result = run.result === null ? null : (parseExactly(run.result) as AgentResult);
    return { ...run, result, model_calls: modelCalls, tool_calls: toolCalls, children };
  },
});
