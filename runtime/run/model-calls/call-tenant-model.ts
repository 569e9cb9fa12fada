import { type Budget, readBudget } from '../../billing/budget';
import { reportTokens } from '../../billing/report-tokens';
import { DEFAULTS } from '../../config/runtime-config';
import { BUILT_IN_TIERS } from '../../contracts/built-in-tiers';
import { type AssistantMessage, type Message, textOf, type ToolCallMessage } from '../../contracts/message';
import { type FinishReason, isWhole, type ModelDelta, type ModelRequest, type ToolChoice } from '../../contracts/model';
import type { AgentResult } from '../../contracts/result';
import type { CallMeta, CallTask, TaskConfig } from '../../contracts/task';
import type { TenantSnapshot } from '../../contracts/tenant';
import { type ErrorSummary, RuntimeError } from '../../errors/runtime-error';
import { toRuntimeError } from '../../errors/to-runtime-error';
import { identityOf } from '../../ledger/identity';
import { beginSingleRun } from '../../ledger/single-run';
import { makeModelCall } from '../../loop/ask-model';
import { withUniqueIds } from '../../loop/transcript';
import { normalizeModelId } from '../../models/select-model';
import type { Deadline } from '../../util/abort';
import { stripThinking } from '../../util/text/strip-thinking';
import { createThinkingFilter } from '../../util/text/thinking-filter';
import { chooseModel } from '../plan/choose-model';
import { resolveLimits } from '../plan/resolve-limits';
import { messageLength, roomFor } from '../reserve';
import type { RunEnvironment } from '../run';

type Asked = Pick<ModelRequest, 'messages' | 'tools' | 'parallelToolCalls' | 'responseFormat' | 'stop' | 'onDelta'>;

/** The model that is asked, and how. */
export interface ModelOfTenant {
  readonly tenantId: string;
  readonly tier?: string;
  /** A model within what the tenant may use, in place of the tier's. */
  readonly modelOverride?: string;
  readonly temperature?: number;
  readonly maxTokens?: number;
}

interface ModelCall extends Asked, ModelOfTenant {
  readonly toolChoice: ToolChoice | { readonly name: string };
  readonly meta?: CallMeta;
  readonly task?: CallTask;
  readonly deadline: Deadline;
  readonly timeoutMs: number;
}

export interface ModelAnswer {
  readonly message: AssistantMessage;
  readonly finish_reason: FinishReason;
  /** The model that answered. */
  readonly model: string;
  readonly tier: string;
  readonly tokens: AgentResult['tokens'];
  /** US dollars of this call, as decimal text. */
  readonly cost_usd: string;
  /** The tokens were counted from the texts, since the provider reported none. */
  readonly usage_estimated?: true;
  readonly warnings: readonly ErrorSummary[];
}

const A_CALL: CallTask = { type: 'model-call' };

/** Makes one model call in a run of its own, which does nothing else. Rejects like a run. */
export async function callTenantModel(environment: RunEnvironment, call: ModelCall): Promise<ModelAnswer> {
  const { deadline, task: { id: within, type: kind } = A_CALL } = call;
  const { signal } = deadline;
  const snapshot = await loadTenant(environment, call);
  const decided = decide(environment, snapshot, call);
  const { modelId, model, modelIds, isFree, tier, budget, ...sampling } = decided;
  const shown = showTo(call.onDelta);
  const settings = { modelId, ...sampling, onDelta: shown.onDelta, redact: environment.redactorFor(snapshot) };
  const request = requestOf(call, settings);
  const reserve = roomFor({ budget, modelIds, maxTokens: sampling.maxTokens, prices: snapshot.prices }, lengthOf(call));
  const run = await beginSingleRun(environment, {
    ...{ kind, within, call: 'model', snapshot, tier, signal },
    input: { model: modelId },
    identity: identityOf(call.meta ?? {}),
    model: { modelId, reserve, isFree, settleRetries: DEFAULTS.settleRetries },
  }).catch((error: unknown) => {
    throw stopError(call) ?? toRuntimeError(error);
  });
  const stop = { signal, error: () => stopError(call) };
  const { account } = run;
  const observer = { modelCallEnded: account.chargeStep, modelSettledLate: account.chargeLate };
  const made = makeModelCall({ model, request, step: 1, onReply: shown.end }, { stop, observer });
  const { reply } = await made.catch(async (error: unknown) => {
    await run.end('failed');
    throw error;
  });
  const lost = await run.end('completed');
  const { usage, costUsd, usageEstimated } = account.meter.totals();
  const message = answerOf(reply.message, call.messages);
  // Half of a call may be a valid one.
  if (message.tool_calls !== undefined && !isWhole(reply.finishReason)) {
    throw new RuntimeError('LLM_CALL_CUT', { reason: reply.finishWord ?? reply.finishReason });
  }
  return {
    message,
    finish_reason: reply.finishReason,
    model: reply.fallback?.name ?? modelId,
    tier,
    tokens: reportTokens(usage),
    cost_usd: costUsd,
    ...(usageEstimated === true ? { usage_estimated: true } : {}),
    warnings: [...account.meter.warnings(), ...(lost === undefined ? [] : [lost.toSummary()])],
  };
}

async function loadTenant({ tenants }: RunEnvironment, call: ModelCall): Promise<TenantSnapshot> {
  const { tenantId, modelOverride } = call;
  const given = modelOverride === undefined ? [] : [normalizeModelId(modelOverride)];
  const modelIds = [...BUILT_IN_TIERS.map((tier) => tier.modelId), ...given];
  const snapshot = await tenants.load({ tenantId, modelIds });
  if (!snapshot.tenant.isActive) throw new RuntimeError('TENANT_INACTIVE', { tenantId });
  return snapshot;
}

interface Decided extends Pick<ReturnType<typeof chooseModel>, 'model' | 'modelIds' | 'isFree'>, Sampling {
  readonly modelId: string;
  /** The code of the tier. */
  readonly tier: string;
  readonly budget: Budget;
}

type Sampling = Pick<ModelRequest, 'temperature' | 'maxTokens' | 'silenceMs'>;

function decide({ models }: RunEnvironment, snapshot: TenantSnapshot, call: ModelCall): Decided {
  const { settings } = snapshot.tenant;
  const { tier: agent_tier, modelOverride: model_override, temperature, maxTokens: max_tokens } = call;
  const config = { agent_tier, model_override, temperature, max_tokens } as TaskConfig;
  const budget = readBudget(settings, {});
  const required = { config, asked: config, snapshot, budget, models, connected: {} };
  const { selected, model, modelIds, isFree } = chooseModel(required);
  const { tier, modelId } = selected;
  const { limits } = resolveLimits({ config, settings, tier, defaults: DEFAULTS });
  const { modelSilenceMs: silenceMs, maxTokens } = limits;
  return {
    ...{ model, modelIds, isFree, modelId, budget, tier: tier.code },
    ...{ temperature: limits.temperature, maxTokens, silenceMs },
  };
}

type Settings = Sampling & Pick<ModelRequest, 'modelId' | 'redact' | 'onDelta'>;

/** A tool that is named is offered alone, and required: not every provider takes a name. */
function requestOf(call: ModelCall, settings: Settings): ModelRequest {
  const { messages, toolChoice, parallelToolCalls, responseFormat, stop, tenantId, deadline } = call;
  const isNamed = typeof toolChoice === 'object';
  const tools = isNamed ? call.tools.filter(({ name }) => name === toolChoice.name) : call.tools;
  if (isNamed && tools.length === 0) {
    throw new RuntimeError('INPUT_INVALID', { issues: `toolChoice names no tool: ${toolChoice.name}` });
  }
  return {
    ...{ messages, tools, toolChoice: isNamed ? 'required' : toolChoice, parallelToolCalls, responseFormat, stop },
    ...{ ...settings, tenantId, signal: deadline.signal, attempts: { sent: 0, answered: 0 } },
  };
}

interface Shown {
  readonly onDelta?: (delta: ModelDelta) => void;
  /** The reply is whole: what was held back may go. */
  readonly end: () => void;
}

/** Shows the pieces of a reply without the thinking that some models write into it. */
function showTo(onDelta: ModelRequest['onDelta']): Shown {
  if (onDelta === undefined) return { end: () => undefined };
  const visible = createThinkingFilter();
  const show = (text: string): void => {
    if (text !== '') onDelta({ kind: 'text', text });
  };
  return {
    onDelta: (delta) => (delta.kind === 'text' ? show(visible.push(delta.text)) : onDelta(delta)),
    end: () => show(visible.end()),
  };
}

/** Tokens that providers add to a message for its role. */
const OF_MESSAGE = 8;

/** Returns about how many tokens the request has at most: a text has hardly ever more than characters. */
function lengthOf({ messages, tools, responseFormat = {}, stop = [] }: ModelCall): number {
  const settings = JSON.stringify([tools, responseFormat, stop]).length;
  return messages.reduce((sum, message) => sum + messageLength(message) + OF_MESSAGE, settings);
}

/** A reply without what is for the provider alone, with calls that other programs can tell apart. */
function answerOf(reply: AssistantMessage, before: readonly Message[]): AssistantMessage {
  const seen = new Set(before.flatMap((one) => (one.role === 'assistant' ? (one.tool_calls ?? []) : [])).map(idOf));
  const { content, tool_calls: calls = [] } = withUniqueIds(reply, { step: seen.size + 1, seen });
  const text = stripThinking(textOf(content));
  if (calls.length === 0) return { role: 'assistant', content: text };
  return {
    role: 'assistant',
    content: text === '' ? null : text,
    tool_calls: calls.map(({ id, type, function: { name, arguments: written } }) => ({
      // Some models write nothing for a call without arguments.
      ...{ id, type, function: { name, arguments: written.trim() === '' ? '{}' : written } },
    })),
  };
}

const idOf = ({ id }: ToolCallMessage): string => id;

function stopError({ deadline, timeoutMs }: ModelCall): RuntimeError | undefined {
  const cause = deadline.cause();
  if (cause === undefined) return undefined;
  return cause === 'cancelled'
    ? new RuntimeError('RUN_CANCELLED')
    : new RuntimeError('RUN_TIMEOUT', { timeoutSeconds: timeoutMs / 1000 });
}
