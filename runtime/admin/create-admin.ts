import { createVaultStore } from '../storage/postgres/vault-store';
import type { Admin } from './contract/admin';
import type { AdminHost } from './contract/host';
import type { AdminOperation, AdminPorts } from './operation';
import { type Misdeclared, OPERATIONS } from './operations';
import { readInput } from './read-input';

type AnyOperation = AdminOperation<string, Parameters<typeof readInput>[0], unknown>;

/** All operations by resource and name, each with its input checked. */
export function createAdmin(given: Omit<AdminPorts, 'vault'>): Admin {
  const ports: AdminPorts = { ...given, vault: createVaultStore(given.postgres) };
  const admin: Record<string, Record<string, unknown>> = {};
  for (const { name, input, run } of OPERATIONS as unknown as readonly AnyOperation[]) {
    const [resource = '', verb = ''] = name.split('.');
    (admin[resource] ??= {})[verb] = async (asked: unknown, host: AdminHost = {}) =>
      run(ports, readInput(input, asked, name), host);
  }
  return admin as unknown as [Misdeclared] extends [never] ? Admin : Misdeclared;
}
