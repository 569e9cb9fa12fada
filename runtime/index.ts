export type { Admin } from './admin/contract/admin';
export { createRuntime, type Runtime } from './compose/create-runtime';
export { migrateWorkflow } from './compose/migrate-workflow';
export type { StreamEvent } from './compose/stream-run';
export type { TurnResult } from './compose/take-turn';
export type { DatabaseConfig, RuntimeConfig, RuntimePlugins } from './config/runtime-config';
export type { Connected, ConnectedTool, Memory, OutputFormat } from './contracts/connected';
export type { Log, OnEvent, RunEvent } from './contracts/event';
export type { Account, MadeCall, PlannedCall } from './contracts/ledger/account';
export type { Claim, ClaimRequest, LedgerStore, RunProgress } from './contracts/ledger/ledger';
export type { NewTurn, SessionRecord, SessionStore } from './contracts/ledger/session';
export type { ModelCallRecord, ModelPrice, Usage } from './contracts/ledger/usage';
export {
  type AssistantMessage,
  type Content,
  type ContentPart,
  type Message,
  textOf,
  type ToolCallMessage,
} from './contracts/message';
export type { Model, ModelReply, ModelRequest, NamedModel } from './contracts/model';
export type { Callback, QueueTask, TaskInput, TaskReport, TaskType } from './contracts/queue';
export type { AgentResult, RunStatus, ToolCallReport, TraceEntry } from './contracts/result';
export type { RunOptions } from './contracts/run';
export type { TaskConfigInput } from './contracts/task-config.generated';
export type {
  Agent,
  AgentDefinition,
  AgentRow,
  ModelRule,
  TenantSnapshot,
  TenantStore,
  Tier,
  ToolRow,
} from './contracts/tenant';
export type { SkillReader, SkillRow } from './contracts/tools/skill';
export type { ParsedInput, TenantToolSource, Tool, ToolContext, ToolMeta, Toolset } from './contracts/tools/tool';
export type { ChildCall, ChildConfig, ToolRun } from './contracts/tools/tool-run';
export type { ToolDefinition, ToolOutput } from './contracts/tools/tool-shapes';
export { ERROR_CODES, type ErrorCategory, type ErrorCode } from './errors/codes';
export type { OwnMessages, Unanswered } from './errors/customer-messages';
export { type ErrorSummary, isRuntimeError, RuntimeError } from './errors/runtime-error';
export { fromChatModel } from './models/langchain/chat-model';
export type { ModelAnswer } from './run/model-calls/call-tenant-model';
export type { TenantModels } from './run/model-calls/tenant-models';
export { outputFormat, schemaFormat } from './run/plan/output-format';
export type { Enqueued } from './tasks/enqueue-task';
export type { Migration, MigrationOptions, MigrationReport, Workflow } from './workflow-migration/contract';
