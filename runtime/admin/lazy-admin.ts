import type { Admin } from './admin';

/** Every operation by its resource. */
export const ADMIN_OPERATIONS = {
  tenant: ['list', 'get', 'create', 'set', 'update', 'deactivate', 'activate', 'delete'],
  tool: ['list', 'create', 'set', 'update', 'delete', 'enable', 'disable', 'setLimits', 'execute'],
  mcpServer: ['list', 'add', 'refresh', 'approve', 'health', 'disconnect', 'remove'],
  secret: ['set', 'list', 'delete', 'rotate'],
  oauthLogin: ['list', 'revoke'],
  price: ['list', 'set', 'sync'],
  tier: ['list', 'set'],
  usage: ['summary', 'topSpenders', 'unknown', 'export', 'report'],
  run: ['list', 'get'],
  approval: ['list', 'decide'],
  diagnostics: ['summary', 'schema', 'prepareDatabase', 'addDemoTenant'],
} as const satisfies { readonly [Resource in keyof Admin]: readonly (keyof Admin[Resource])[] };

type Operation = (...given: readonly unknown[]) => Promise<unknown>;
type Operations = Readonly<Record<string, Readonly<Record<string, Operation>>>>;

/** Administration that is loaded with its first use: no run needs it. */
export function lazyAdmin(load: () => Promise<Admin>): Admin {
  const resources = Object.entries(ADMIN_OPERATIONS).map(([resource, names]) => {
    const operations = (names as readonly string[]).map((name): readonly [string, Operation] => [
      name,
      async (...given) => {
        const admin = (await load()) as unknown as Operations;
        return admin[resource]?.[name]?.(...given);
      },
    ]);
    return [resource, Object.fromEntries(operations)];
  });
  return Object.fromEntries(resources) as Admin;
}
