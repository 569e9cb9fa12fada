import type { Log } from '../../contracts/event';
import type { TaskLimit } from '../../contracts/ledger/ledger';
import type { CallMeta, CallTask } from '../../contracts/task';
import type { AgentDefinition, TenantSnapshot } from '../../contracts/tenant';
import type { EgressFilter, ParsedInput, Tool } from '../../contracts/tools/tool';
import type { ToolCallRecord } from '../../contracts/tools/tool-call';
import type { ToolRun } from '../../contracts/tools/tool-run';
import type { ToolOutput } from '../../contracts/tools/tool-shapes';
import { distinct } from '../../errors/distinct';
import { type ErrorSummary, RuntimeError } from '../../errors/runtime-error';
import { toolFailure } from '../../errors/tool-failure';
import { auditLine } from '../../ledger/audit-line';
import { identityOf } from '../../ledger/identity';
import { beginSingleRun, type RunLedger, type SingleRun } from '../../ledger/single-run';
import { limitReached, limitsOfCall } from '../../permissions/call-limits';
import { untilAborted } from '../../util/abort';
import { elapsedMs, monotonicMs } from '../../util/clock';
import { canonicalJson, isJsonObject, type JsonObject } from '../../util/json';
import type { Redact } from '../../util/redaction/redact';
import type { SelectTools } from '../combine-sources';
import type { ToolAudience } from './offer-tools';

/** A call that runs are started for, outside a run. */
interface CallAlone extends Pick<CallRequest, 'tier' | 'egress' | 'logger' | 'signal'> {
  readonly run: SingleRun;
  readonly meta: CallMeta;
}

/** Returns what starts runs for the call. `ended` stops those that nobody waits for, and resolves with their warnings. */
export type StartBelow = (call: CallAlone) => {
  readonly start: ToolRun['startChild'];
  readonly ended: () => Promise<readonly ErrorSummary[]>;
};

export interface CallParts extends RunLedger {
  readonly startBelow: StartBelow;
  /** Limit of a call. */
  readonly timeoutMs: number;
  readonly selectTools: SelectTools;
  readonly redactorFor: (snapshot: TenantSnapshot) => Redact;
}

interface CallRequest extends ToolAudience {
  /** Its name or `server.tool`. */
  readonly tool: string;
  readonly arguments: unknown;
  readonly task?: CallTask;
  /** Limits of the agent, which hold for the calls of a task. */
  readonly limits?: AgentDefinition['limits'];
  /** Trusted facts beside the arguments, as a task's meta has them. */
  readonly meta?: CallMeta;
  readonly egress?: EgressFilter;
  /** Log of the runs that it starts. */
  readonly logger?: Log;
}

const A_CALL: CallTask = { type: 'tools-call' };

/**
 * Calls one tool outside a task, in a run of its own: under the same rules and limits, and with the same line in the audit. Nobody
 * is asked for approval: it was given, or the call is refused. Rejects with INPUT_INVALID, TOOL_NOT_FOUND or TOOL_NOT_CALLABLE.
 */
export async function callTenantTool(parts: CallParts, request: CallRequest): Promise<ToolOutput> {
  const { snapshot, meta = {}, tier, task: { id: within, type: kind } = A_CALL, signal } = request;
  const input = objectOf(request.arguments);
  const tool = await findTool(parts, request);
  const parsed = await readInput(tool, input, request);
  if ('refused' in parsed) return parsed.refused;
  const redact = parts.redactorFor(snapshot);
  const { name } = tool.definition;
  const run = await beginSingleRun(parts, {
    ...{ kind, within, call: name, snapshot, tier },
    ...{ input: { tool: name, arguments: input }, identity: identityOf(meta), signal },
  });
  const below = parts.startBelow({ ...request, run, meta });
  try {
    const startedAt = monotonicMs();
    const refused = await refusal(run, { tool, parsed, request });
    const executing = { run, redact, request, startChild: below.start, timeoutMs: parts.timeoutMs };
    const output = refused ?? withWarnings(await execute(tool, parsed, executing), await below.ended());
    const call: ToolCallRecord = {
      ...{ step: 0, id: run.key.runId, tool: name, arguments: parsed.ok ? parsed.value : input },
      ...{ isRepeatable: false, wasSent: refused === undefined, durationMs: elapsedMs(startedAt), outcome: output },
      decision: refused === undefined ? 'allow' : 'deny',
    };
    await run.end(output.isError ? 'failed' : 'completed', auditLine(call, redact));
    return output;
  } catch (error) {
    await below.ended();
    await run.end('failed');
    throw error;
  }
}

function withWarnings(output: ToolOutput, below: readonly ErrorSummary[]): ToolOutput {
  if (below.length === 0) return output;
  return { ...output, warnings: distinct([...(output.warnings ?? []), ...below]) };
}

function objectOf(given: unknown): JsonObject {
  if (isJsonObject(given)) return given;
  throw new RuntimeError('INPUT_INVALID', { issues: 'arguments: must be a JSON object' });
}

/** What does not fit the schema is told as it is in a run to a model, which calls in a task of its own. */
async function readInput(
  tool: Tool,
  input: JsonObject,
  { snapshot, task, signal }: CallRequest,
): Promise<ParsedInput | { readonly refused: ToolOutput }> {
  const checkedFor = { tenantId: snapshot.tenant.id, signal };
  const parsed = await untilAborted(Promise.resolve(tool.parseInput(input, checkedFor)), signal);
  if (parsed.ok || parsed.code !== undefined) return parsed;
  const details = { tool: tool.definition.name, issues: parsed.issues, reason: parsed.issues };
  if (task !== undefined) return { refused: toolFailure('TOOL_INVALID_ARGS', details) };
  throw new RuntimeError('INPUT_INVALID', { issues: `arguments: ${parsed.issues}` });
}

async function findTool({ selectTools }: CallParts, request: CallRequest): Promise<Tool> {
  const { snapshot, tier, agent, tool: name, allowed, signal } = request;
  const rules = [...(allowed === undefined ? [] : [{ enabled_tools: allowed }]), { enabled_tools: [name] }];
  const { tools, warnings } = await selectTools({ snapshot, tier, agent, rules, servers: [], signal });
  const found = tools.find(({ tool, alias }) => tool.definition.name === name || alias === name)?.tool;
  if (found === undefined) throw vaultErrorOf(snapshot, name) ?? notFound(name, warnings);
  return found;
}

async function refusal(
  run: SingleRun,
  { tool, parsed, request }: { readonly tool: Tool; readonly parsed: ParsedInput; readonly request: CallRequest },
): Promise<ReturnType<typeof toolFailure> | undefined> {
  const { name } = tool.definition;
  const denied = parsed.ok ? unapproved(tool, parsed.value, request) : parsed.issues;
  if (denied !== undefined) return toolFailure('TOOL_PERMISSION_DENIED', { tool: name, reason: denied });
  const reached = await run.takeOfTask(limitsOfTask(tool, request));
  if (reached !== undefined) return toolFailure('TOOL_RUN_LIMIT', { tool: name, limit: reached.calls });
  const reason = await run.take(limitsOfCall({ toolCallId: run.key.runId, tool }, request.snapshot));
  if (reason === undefined) return undefined;
  const { code, details } = limitReached(name, reason);
  return toolFailure(code, details);
}

function unapproved({ policy }: Tool, parsed: JsonObject, request: CallRequest): string | undefined {
  const { isApproved, arguments: given } = request;
  if (isApproved === false && policy?.needsApproval === true) return "it needs a person's approval";
  if (isApproved !== true || canonicalJson(parsed) === canonicalJson(given)) return undefined;
  return `the rules make ${JSON.stringify(parsed)} of what was approved, so ask for that`;
}

function limitsOfTask({ definition, policy }: Tool, { limits = {} }: CallRequest): readonly TaskLimit[] {
  const { max_calls_per_tool: ofEach = Infinity, max_tool_calls: ofAll = Infinity } = limits;
  const ofTool = Math.min(policy?.callsPerRun ?? Infinity, ofEach);
  const all = [
    { name: definition.name, calls: ofTool },
    { name: '*', calls: ofAll },
  ];
  return all.filter(({ calls }) => calls < Infinity);
}

interface Executing extends Pick<ToolRun, 'startChild'>, Pick<CallParts, 'timeoutMs'> {
  readonly run: SingleRun;
  readonly redact: Redact;
  readonly request: CallRequest;
}

function execute(
  tool: Tool,
  parsed: ParsedInput,
  { run, redact, request, startChild, timeoutMs }: Executing,
): Promise<ToolOutput> {
  const { egress, signal, snapshot } = request;
  const { tenantId, taskId, runId } = run.key;
  const executing = tool.execute(parsed.ok ? parsed.value : {}, {
    toolCallId: runId,
    run: { key: run.key, account: run.account, startChild },
    meta: { ...request.meta, tenant_id: tenantId, task_id: taskId },
    ...{ signal, redact, egress, variables: new Map(), timeZone: snapshot.tenant.settings.timeZone },
  });
  return untilAborted(executing, signal).catch((error: unknown) => {
    if (!signal.aborted) throw error;
    const isLate = (signal.reason as DOMException).name === 'TimeoutError';
    return toolFailure(isLate ? 'TOOL_TIMEOUT' : 'TOOL_CANCELLED', { tool: tool.definition.name, timeoutMs });
  });
}

/** A tool that is there, but for the vault that does not open its secret. */
function vaultErrorOf({ tools, servers = [] }: TenantSnapshot, name: string): RuntimeError | undefined {
  const ofServer = servers.filter((server) => name.startsWith(`${server.name}.`) || name.startsWith(`${server.name}_`));
  return [...tools.filter(({ code }) => code === name), ...ofServer].find(({ vaultError }) => vaultError)?.vaultError;
}

/** The error of a run for a tool that is not there; but a server that did not answer may well have it, and a row may be unusable here. */
function notFound(tool: string, warnings: readonly ErrorSummary[]): RuntimeError {
  const told = warnings.find(
    ({ code, message }) => code.startsWith('MCP_') || (code === 'TOOL_SKIPPED' && message.includes(`"${tool}"`)),
  );
  if (told !== undefined) return new RuntimeError('TOOL_NOT_CALLABLE', { tool, reason: told.message });
  return new RuntimeError('TOOL_NOT_FOUND', {
    tool,
    available: 'see the list of tools; those that a workflow connects are called by its own node only',
  });
}
