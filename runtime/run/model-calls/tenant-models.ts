import * as z from 'zod/v4';

import type { ModelDelta } from '../../contracts/model';
import { callMetaSchema, type CallTask, callTaskSchema } from '../../contracts/task';
import type { ToolDefinition } from '../../contracts/tools/tool-shapes';
import { describeIssues } from '../../errors/describe-issues';
import { RuntimeError } from '../../errors/runtime-error';
import { readTenantId } from '../../tasks/read-task';
import { startDeadline } from '../../util/abort';
import type { JsonObject } from '../../util/json';
import type { RunEnvironment } from '../run';
import { callTenantModel, type ModelAnswer } from './call-tenant-model';
import { readTranscript } from './read-transcript';

const querySchema = z.object({
  tenantId: z.string(),
  tier: z.string().optional(),
  modelOverride: z.string().optional(),
  temperature: z.number().min(0).max(2).optional(),
  maxTokens: z.int().min(1).optional(),
  toolChoice: z.union([z.enum(['auto', 'none', 'required']), z.object({ name: z.string() })]).default('auto'),
  meta: callMetaSchema.optional(),
  task: callTaskSchema.optional(),
});

/** One call of a tenant's model. Defaults are those of a run. */
interface ModelCallQuery {
  readonly tenantId: string;
  readonly tier?: string;
  /** A model within what the tenant may use, in place of the tier's. */
  readonly modelOverride?: string;
  readonly temperature?: number;
  readonly maxTokens?: number;
  /** The conversation, in the shape of the OpenAI chat API; contents are texts, or parts of text. */
  readonly messages: readonly unknown[];
  /** Functions that the model may ask for; whoever calls makes the calls. */
  readonly tools?: readonly ToolDefinition[];
  /** Default: `auto`. */
  readonly toolChoice?: 'auto' | 'none' | 'required' | { readonly name: string };
  /** Default: true. */
  readonly parallelToolCalls?: boolean;
  /** Form of the answer, as the chat API has it: `{ type: 'json_object' }`. */
  readonly responseFormat?: JsonObject;
  readonly stop?: readonly string[];
  /** `client_id`, `dialog_id`, `user_id`, `session_id`: who the call is for, as a task's meta says it. */
  readonly meta?: unknown;
  /** What the call belongs to. Default: nothing, and it stands on the bill as `model-call`. */
  readonly task?: CallTask;
  /** Is told of the reply piece by piece, without what the model thinks. Must not throw. */
  readonly onDelta?: (delta: ModelDelta) => void;
  readonly signal?: AbortSignal;
}

/** A tenant's models outside a task, for agents that are not ours. */
export interface TenantModels {
  /**
   * Calls the model of a tier as a run would: under the budget of the tenant, with retries, and on its bill. Rejects with a
   * RuntimeError, such as BUDGET_EXCEEDED, TIER_NOT_ALLOWED, MODEL_UNPRICED or one with an LLM_ code.
   *
   * @example
   * const { message } = await runtime.models.call({ tenantId, tier: 'pro', messages: [{ role: 'user', content: 'Hi' }] });
   */
  readonly call: (query: ModelCallQuery) => Promise<ModelAnswer>;
}

export function createTenantModels(environment: RunEnvironment, timeoutMs: number): TenantModels {
  return {
    call: async (given) => {
      const { data, error } = querySchema.safeParse(given);
      if (error !== undefined) throw new RuntimeError('INPUT_INVALID', { issues: describeIssues(error, 'the query') });
      const { tools = [], parallelToolCalls = true, responseFormat, stop, onDelta } = given;
      const messages = readTranscript(given.messages);
      const deadline = startDeadline(timeoutMs, given.signal);
      const asked = { messages, tools, parallelToolCalls, responseFormat, stop, onDelta };
      try {
        const tenantId = readTenantId(data.tenantId);
        return await callTenantModel(environment, { ...data, ...asked, tenantId, deadline, timeoutMs });
      } finally {
        deadline.dispose();
      }
    },
  };
}
