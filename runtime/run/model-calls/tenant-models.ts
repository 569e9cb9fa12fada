import * as z from 'zod/v4';

import type { ModelDelta } from '../../contracts/model';
import { callMetaSchema, type CallTask, callTaskSchema, plainText } from '../../contracts/task';
import type { ToolDefinition } from '../../contracts/tools/tool-shapes';
import { describeIssues } from '../../errors/describe-issues';
import { RuntimeError } from '../../errors/runtime-error';
import { readTenantId } from '../../tasks/read-task';
import { startDeadline } from '../../util/abort';
import { isJsonObject, type JsonObject } from '../../util/json';
import type { RunEnvironment } from '../run';
import { callTenantModel, type ModelAnswer, type ModelOfTenant } from './call-tenant-model';
import { readTranscript } from './read-transcript';

/** Parses a JSON object into a copy, so that later changes do not reach it. */
const jsonObject = z.unknown().transform((given, context): JsonObject => {
  const copy = copyOf(given);
  if (copy !== undefined) return copy;
  context.addIssue({ code: 'custom', message: 'must be a JSON object' });
  return z.NEVER;
});

function copyOf(given: unknown): JsonObject | undefined {
  if (!isJsonObject(given)) return undefined;
  try {
    return JSON.parse(JSON.stringify(given)) as JsonObject;
  } catch {
    return undefined;
  }
}

const tool = z.object({ name: z.string(), description: z.string().default(''), inputSchema: jsonObject });

const querySchema = z.object({
  tenantId: z.string(),
  tier: plainText.optional(),
  modelOverride: plainText.optional(),
  temperature: z.number().min(0).max(2).optional(),
  maxTokens: z.int().min(1).optional(),
  tools: z.array(tool).default([]),
  parallelToolCalls: z.boolean().default(true),
  responseFormat: jsonObject.optional(),
  stop: z.array(z.string()).optional(),
  toolChoice: z.union([z.enum(['auto', 'none', 'required']), z.object({ name: z.string() })]).default('auto'),
  meta: callMetaSchema.optional(),
  task: callTaskSchema.optional(),
  onDelta: z.custom<(delta: ModelDelta) => void>((one) => typeof one === 'function').optional(),
  signal: z.instanceof(AbortSignal).optional(),
});

/** Conversation, and how the model may answer it. */
interface ModelConversation {
  /** The conversation in the shape of the OpenAI chat API; contents are texts, or parts of text. */
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
  /** Is told of the reply piece by piece, without what the model thinks. */
  readonly onDelta?: (delta: ModelDelta) => void;
}

/** One call of a tenant's model. Defaults are those of a run. */
interface ModelCallQuery extends ModelOfTenant, ModelConversation {
  /** `client_id`, `dialog_id`, `user_id`, `session_id`: who the call is for, as a task's meta says it. */
  readonly meta?: unknown;
  /** Task that the call belongs to. Default: none, and the call has a line of the type `model-call`. */
  readonly task?: CallTask;
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
      const messages = readTranscript(given.messages);
      const deadline = startDeadline(timeoutMs, data.signal);
      const onDelta = safely(data.onDelta);
      try {
        const tenantId = readTenantId(data.tenantId);
        return await callTenantModel(environment, { ...data, messages, onDelta, tenantId, deadline, timeoutMs });
      } finally {
        deadline.dispose();
      }
    },
  };
}

/** Wraps a listener: its errors must not cost an answer that is paid for. */
function safely(onDelta: ModelConversation['onDelta']): ModelConversation['onDelta'] {
  if (onDelta === undefined) return undefined;
  return (delta) => {
    try {
      onDelta(delta);
    } catch {
      // A listener has no say in the call.
    }
  };
}
