// What n8n nodes need beside the library: runtimes that executions share, lists for the editor, exact integers.
export { checkSqlRole } from './compose/check-sql-role';
export { type CatalogEntry, listTenantTools } from './compose/editor-lists';
export { useRuntime, useTaskQueue } from './compose/shared-runtime';
export { customerMessage } from './errors/customer-messages';
export * from './index';
export { mapExactIntegers, parseExactly } from './util/exact-integer';
