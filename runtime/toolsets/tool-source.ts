import type { ConnectedTool } from '../contracts/connected';
import type { RunMode } from '../contracts/task';
import type { AgentDefinition, TenantSnapshot } from '../contracts/tenant';
import type { GivenSkills } from '../contracts/tools/skill';
import type { TenantTool, Tool } from '../contracts/tools/tool';
import type { ErrorSummary } from '../errors/runtime-error';
import type { TenantServer } from '../mcp/mcp-servers';
import type { Policy } from '../permissions/allowed-tools';
import type { JsonValue } from '../util/json';

/** What a run brings to every origin of tools. */
interface OfferRequest {
  readonly snapshot: TenantSnapshot;
  /** MCP servers given with the run, beside the tenant's own. */
  readonly servers: readonly TenantServer[];
  /** What the host has connected to this run. */
  readonly connected: readonly ConnectedTool[];
  readonly policy: Policy;
  /** The skills of the run. */
  readonly skills: GivenSkills;
  /** The agents that the agent of the run can ask. */
  readonly subAgents: GivenSubAgents;
  readonly mode: RunMode;
  readonly signal: AbortSignal;
}

/** Agents that the agent of a run can ask. */
export interface GivenSubAgents {
  /** The name of that agent. */
  readonly asking: string;
  readonly entries: readonly Pick<AgentDefinition, 'name' | 'description'>[];
  /** Names without an agent that is active. */
  readonly missing: readonly string[];
}

/** Rules for tools in the shape of tool_config; they can only narrow. */
export interface ToolLists {
  readonly enabled_tools?: readonly string[];
  readonly disabled_tools?: readonly string[];
  readonly tool_permissions?: unknown;
}

/** A tool on its way into a toolset. */
export interface OfferedTool extends Omit<TenantTool, 'tool' | 'formerName' | 'origin'> {
  /** The name that it asks for: any text. */
  readonly name: string;
  /** Tells apart two tools that ask for one name, which then both get another. Without it the name is fixed. */
  readonly identity?: JsonValue;
  /**
   * Makes the tool under the name that it got. `toolsOfRun` returns all tools of the run once they are chosen, so at its calls.
   * Throws an Error for a tool that cannot be used.
   */
  readonly build: (name: string, toolsOfRun: () => readonly TenantTool[]) => Tool;
  /** The warning for a tool that cannot be used. */
  readonly unusable?: (reason: string) => ErrorSummary;
}

export interface ToolOffer {
  readonly tools: readonly OfferedTool[];
  /** What cannot be offered, and why. The run goes on without it. */
  readonly warnings: readonly ErrorSummary[];
  /** Words to the model that go with the tools, after the system prompt; told while one of the tools is allowed. Default: none. */
  readonly instructions?: string;
  /** Made for this run alone: a toolset that it is part of is not kept for the next one. */
  readonly isOfRun?: boolean;
}

/**
 * One origin of tools: the tenant's catalogue, plug-ins, MCP servers, what a host connects.
 *
 * @example
 * const clock: ToolSource = { offer: () => ({ tools: [{ name: 'now', type: 'code', build: () => nowTool }], warnings: [] }) };
 */
export interface ToolSource {
  /**
   * What it has for a run. `before` is what it offered last under the same rows, rules and skills: the very same object comes back
   * while nothing has changed, so that a warm run builds and serialises nothing.
   */
  readonly offer: (request: OfferRequest, before: ToolOffer | undefined) => ToolOffer | Promise<ToolOffer>;
}

export const NO_TOOLS: ToolOffer = { tools: [], warnings: [] };
