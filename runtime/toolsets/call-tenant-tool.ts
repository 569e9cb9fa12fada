import type { LedgerStore, RunKey, SingleCall } from '../contracts/ledger/ledger';
import type { CallMeta } from '../contracts/task';
import type { TenantSnapshot } from '../contracts/tenant';
import type { EgressFilter, ParsedInput, Tool, ToolOutput } from '../contracts/tools/tool';
import type { ToolCallRecord } from '../contracts/tools/tool-call';
import { type ErrorSummary, RuntimeError } from '../errors/runtime-error';
import { toolFailure } from '../errors/tool-failure';
import { auditLine } from '../ledger/audit-line';
import { identityOf } from '../ledger/identity';
import { limitReached, limitsOfCall } from '../permissions/call-limits';
import { untilAborted } from '../util/abort';
import { elapsedMs, monotonicMs, newId } from '../util/clock';
import { isJsonObject, type JsonObject } from '../util/json';
import type { Redact } from '../util/redaction/redact';
import type { SelectTools } from './combine-sources';

export interface CallParts {
  readonly selectTools: SelectTools;
  readonly ledger: Pick<LedgerStore, 'takeCall' | 'record'>;
  readonly redactorFor: (snapshot: TenantSnapshot) => Redact;
}

interface CallRequest {
  readonly snapshot: TenantSnapshot;
  readonly tier?: string;
  readonly agent?: string;
  /** Its name or `server.tool`. */
  readonly tool: string;
  readonly arguments: unknown;
  /** Trusted facts beside the arguments, as a task's meta has them. */
  readonly meta?: CallMeta;
  readonly egress?: EgressFilter;
  readonly signal: AbortSignal;
}

/**
 * Calls one tool outside a run, under the same rules and limits, and with the same line in the audit; who calls it so is
 * a person, so nobody is asked for approval. Rejects with INPUT_INVALID, TOOL_NOT_FOUND or TOOL_NOT_CALLABLE.
 */
export async function callTenantTool(parts: CallParts, request: CallRequest): Promise<ToolOutput> {
  const { snapshot, arguments: input } = request;
  if (!isJsonObject(input)) throw new RuntimeError('INPUT_INVALID', { issues: 'arguments: must be a JSON object' });
  const tool = await findTool(parts, request);
  const checkedFor = { tenantId: snapshot.tenant.id, signal: request.signal };
  const parsed = await untilAborted(Promise.resolve(tool.parseInput(input, checkedFor)), request.signal);
  if (!parsed.ok && parsed.code === undefined) {
    throw new RuntimeError('INPUT_INVALID', { issues: `arguments: ${parsed.issues}` });
  }
  const id = newId();
  const startedAt = monotonicMs();
  const taking = limitsOfCall({ toolCallId: id, tool }, snapshot);
  const { meta = {}, signal, egress } = request;
  const key: RunKey = { tenantId: snapshot.tenant.id, taskId: `tools-call-${id}`, runId: id };
  const call: SingleCall = { ...key, taking };
  const redact = parts.redactorFor(snapshot);
  const refused = await refusal(parts, call, parsed);
  const { timeZone } = snapshot.tenant.settings;
  const output = refused ?? (await execute(tool, parsed, { call, redact, meta, egress, signal, timeZone }));
  const record: ToolCallRecord = {
    step: 0,
    id,
    tool: tool.definition.name,
    arguments: parsed.ok ? parsed.value : input,
    decision: refused === undefined ? 'allow' : 'deny',
    isRepeatable: false,
    wasSent: refused === undefined,
    durationMs: elapsedMs(startedAt),
    outcome: output,
  };
  // The call was made: a line that cannot be written must not take its answer away.
  const audit = [auditLine(record, redact)];
  await parts.ledger.record({ ...key, closed: [], leaseMs: 0, audit, ...identityOf(meta) }).catch(() => undefined);
  return output;
}

async function findTool({ selectTools }: CallParts, request: CallRequest): Promise<Tool> {
  const { snapshot, tier, agent, tool: name, signal } = request;
  const rules = { enabled_tools: [name] };
  const { tools, warnings } = await selectTools({ snapshot, tier, agent, rules, servers: [], signal });
  const found = tools.find(({ tool, alias }) => tool.definition.name === name || alias === name)?.tool;
  if (found === undefined) throw vaultErrorOf(snapshot, name) ?? notFound(name, warnings);
  return found;
}

async function refusal(
  { ledger }: CallParts,
  call: SingleCall,
  parsed: ParsedInput,
): Promise<ReturnType<typeof toolFailure> | undefined> {
  const { tool } = call.taking;
  if (!parsed.ok) return toolFailure('TOOL_PERMISSION_DENIED', { tool, reason: parsed.issues });
  const reason = await ledger.takeCall(call);
  if (reason === undefined) return undefined;
  const { code, details } = limitReached(tool, reason);
  return toolFailure(code, details);
}

function execute(
  tool: Tool,
  parsed: ParsedInput,
  context: {
    readonly call: SingleCall;
    readonly redact: Redact;
    readonly meta: CallMeta;
    readonly egress?: EgressFilter;
    readonly signal: AbortSignal;
    readonly timeZone?: string;
  },
): Promise<ToolOutput> {
  const { call, redact, egress, signal, timeZone } = context;
  const input: JsonObject = parsed.ok ? parsed.value : {};
  const meta = { ...context.meta, tenant_id: call.tenantId, task_id: call.taskId };
  return tool.execute(input, { toolCallId: call.runId, meta, signal, variables: new Map(), redact, egress, timeZone });
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
