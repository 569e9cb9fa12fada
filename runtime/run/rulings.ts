import type { CallToTake, Recorded } from '../contracts/ledger/ledger';
import type { Toolset } from '../contracts/tools/tool';
import { isRuntimeError } from '../errors/runtime-error';
import type { RunnableCall } from '../loop/admit-tool-call';
import type { Ruling, Rulings } from '../loop/loop-contract';
import { limitReached, limitsOfCall } from '../permissions/call-limits';
import type { ClaimedRun } from './run';

/** The tenant's rules, as they are at each moment of a run. */
interface RulesOfRun {
  /** What the calls are to be taken off; limits that were narrowed since the run began are counted too. */
  readonly limitsOf: (calls: readonly RunnableCall[]) => readonly CallToTake[];
  /** What the ledger's answer means for the calls. Rejects where the tenant must mend something. */
  readonly judge: (calls: readonly RunnableCall[], recorded: Recorded) => Promise<Rulings>;
}

/** Rules that change while a run is under way hold from its next tool call on. */
export function followRules({ plan, tenant, toolsOfNow }: ClaimedRun): RulesOfRun {
  let { toolset } = plan;
  let version = tenant.policyVersion;
  return {
    limitsOf: (calls) =>
      calls.map(({ call, tool }) =>
        limitsOfCall({ toolCallId: call.id, tool: toolset.find(tool.definition.name) ?? tool }, tenant),
      ),
    judge: async (calls, recorded) => {
      const now = recorded.policyVersion;
      if (version !== undefined && now !== undefined && now !== version) {
        const chosen = await toolsOfNow().catch(onlyUnreachable);
        if (chosen === undefined) return denyAll(calls);
        toolset = chosen;
        version = now;
      }
      return rulingsFor(calls, recorded, toolset === plan.toolset ? undefined : toolset);
    },
  };
}

/** What the tenant must mend ends the run; what may pass only keeps these calls from being made. */
function onlyUnreachable(error: unknown): undefined {
  if (isRuntimeError(error) && error.category === 'tenant') throw error;
  return undefined;
}

function denyAll(calls: readonly RunnableCall[]): Rulings {
  return new Map(
    calls.map(({ call, tool }): [string, Ruling] => [
      call.id,
      { kind: 'deny', code: 'TOOL_NOT_AUTHORIZED', details: { tool: tool.definition.name } },
    ]),
  );
}

function rulingsFor(calls: readonly RunnableCall[], { refused = [] }: Recorded, changed: Toolset | undefined): Rulings {
  const rulings = new Map<string, Ruling>();
  for (const { call, tool } of calls) {
    const { name } = tool.definition;
    const refusal = refused.find(({ toolCallId }) => toolCallId === call.id);
    const now = changed?.find(name);
    if (changed !== undefined && now === undefined) rulings.set(call.id, revoked(name));
    else if (refusal !== undefined) rulings.set(call.id, { kind: 'deny', ...limitReached(name, refusal.reason) });
    else if (now !== undefined) rulings.set(call.id, { kind: 'changed', tool: now });
  }
  return rulings;
}

function revoked(tool: string): Ruling {
  return { kind: 'deny', code: 'TOOL_PERMISSION_DENIED', details: { tool, reason: 'its permission was just revoked' } };
}
