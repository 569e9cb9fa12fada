/** What a test of your own needs in place of Postgres and a model provider. */
export { createMemoryLedger, type MemoryLedger } from './memory-ledger';
export { createMemoryTenants, type MemorySkill, type MemoryTenant } from './memory-tenants';
export { createScriptedModel, type ScriptedCall, type ScriptedModel, type ScriptedReply } from './scripted-model';
