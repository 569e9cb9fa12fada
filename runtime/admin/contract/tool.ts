import type { SeedToolsReport } from '../../storage/schema/seed-tools';
import type { CatalogueEntry, GivenTool } from '../../storage/sql/admin/manage-tools';
import type { TenantTools } from '../../toolsets/single-calls/tenant-tools';
import type { JsonObject, JsonValue } from '../../util/json';
import type { HttpApi } from '../tools/rest-request';
import type { ToolField } from '../tools/tool-schema';
import type { AdminHost } from './host';

/** A tool of the catalogue; docs/tools.md says what each field does. */
export interface ToolChange {
  /** What the model calls it, and how it is known here: letters, digits, `_` and `-`, at most 50. */
  readonly code: string;
  /** Default: the code. */
  readonly name?: string;
  /** The model decides by it when to call the tool. */
  readonly description?: string;
  /** How it is reached. Default `hook`. */
  readonly transport?: string;
  readonly endpoint?: string | null;
  /** An HTTP API by method, URL, query and body, in place of `transport`, `endpoint` and that part of `transportConfig`. */
  readonly request?: HttpApi;
  /** `Bearer vault:NAME`, or the header as it is. */
  readonly authHeader?: string | null;
  readonly timeoutMs?: number;
  /** JSON Schema of its arguments; or `fields`, from which one is made. */
  readonly parametersSchema?: JsonObject | null;
  readonly fields?: readonly ToolField[];
  /** Tiers that may use it; every tier if it is null. */
  readonly allowedTiers?: readonly string[] | null;
  readonly mcpTool?: string | null;
  readonly transportConfig?: JsonObject;
  readonly isActive?: boolean;
}

export interface NewTool extends ToolChange {
  /** Tenants that get it at once. */
  readonly enableFor?: readonly string[];
}

export interface CataloguePage {
  readonly tools: readonly CatalogueEntry[];
  readonly next: string | null;
}

type Offered = Awaited<ReturnType<TenantTools['list']>>;

export interface OfTool {
  readonly tenantId: string;
  readonly code: string;
}

export interface ToolGrant extends OfTool {
  /** The tenant's own settings for the tool (docs/tools.md). What is left out stays as it is. */
  readonly customConfig?: JsonObject;
}

export interface ToolLimits extends OfTool {
  /** Calls a day; null for no limit. */
  readonly dailyLimit?: number | null;
  /** Rules as in docs/permissions.md in place of those that the tool has; null for none. */
  readonly permissions?: JsonObject | null;
  /** Rules that are laid over these, each as a whole. */
  readonly rules?: JsonObject;
}

/**
 * The catalogue of tools, and who was given which. Every method rejects with ADMIN_INPUT_INVALID, TOOL_UNKNOWN, TENANT_NOT_FOUND,
 * TOOL_INVALID, POLICY_INVALID, RULE_UNMATCHED, ADDRESS_FORBIDDEN or a DB_ code; then nothing has changed.
 */
export interface ToolAdmin {
  /** The catalogue by code; with a tenant every tool that it is offered, those of its MCP servers too. */
  readonly list: (query?: {
    readonly tenantId?: string;
    /** Only what this tier of the tenant may use. */
    readonly tier?: string;
    /** Only what this agent of the tenant may use, by the rules in its settings. */
    readonly agent?: string;
    /** A part of the code or name; of the catalogue alone. */
    readonly filter?: string;
    readonly limit?: number;
    readonly after?: string;
  }) => Promise<CataloguePage | Offered>;
  /** Rejects with TOOL_EXISTS, too. */
  readonly create: (tool: NewTool, host?: AdminHost) => Promise<CatalogueEntry>;
  /** Creates the tool, or updates the one with this code. */
  readonly set: (tool: NewTool, host?: AdminHost) => Promise<CatalogueEntry>;
  /** What is left out stays as it is. */
  readonly update: (tool: ToolChange, host?: AdminHost) => Promise<CatalogueEntry>;
  /** Rejects with TOOL_IN_USE as long as a tenant has it. */
  readonly delete: (tool: { readonly code: string }) => Promise<{ readonly code: string; readonly deleted: true }>;
  readonly enable: (grant: ToolGrant, host?: AdminHost) => Promise<GivenTool>;
  readonly disable: (grant: OfTool) => Promise<GivenTool>;
  /** Adds the tools that come with this package. Rows that are there stay, unless `update` resets them. */
  readonly addBuiltIn: (options?: { readonly update?: boolean }) => Promise<SeedToolsReport>;
  readonly setLimits: (limits: ToolLimits) => Promise<GivenTool>;
  /** Calls it as a run would: under the same checks, limits and audit. Rejects with the code of its failure. */
  readonly execute: (
    call: {
      readonly tenantId: string;
      readonly tool: string;
      readonly arguments?: JsonObject;
      /** Only if this tier may use the tool. */
      readonly tier?: string;
      /** The name of an agent, whose rules hold too. */
      readonly agent?: string;
      /** Who the call is for, such as `{"user_id": "7"}`; also `client_id`, `dialog_id` and `session_id`. */
      readonly meta?: JsonObject;
    },
    host?: AdminHost,
  ) => Promise<{ readonly result: JsonValue }>;
}

/** The database role of the tool `sql_query`. */
export interface SqlRoleAdmin {
  /**
   * Creates the role, or brings it back to what it should be: it may log in, read what is named, and nothing else. Rejects
   * with SQL_ROLE_NOT_MADE.
   */
  readonly set: (role: {
    readonly name: string;
    /** Tables of the installation that it may read, too. */
    readonly tables?: readonly string[];
    /** 12 to 128 characters of ASCII without spaces. Default: a generated one, returned once. */
    readonly password?: string;
  }) => Promise<{
    readonly role: string;
    readonly is_new: boolean;
    /** Everything that it may read. */
    readonly tables: readonly string[];
    /** Set if it was generated; it is not stored anywhere. */
    readonly password?: string;
  }>;
}
