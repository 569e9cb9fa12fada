import type { Admin } from './contract/admin';
import { OPERATION_NAMES } from './operation-names.generated';

type Operation = (...given: readonly unknown[]) => Promise<unknown>;
type Operations = Readonly<Record<string, Readonly<Record<string, Operation>>>>;

/** Administration whose operations are loaded with the first use of one: no run needs them. */
export function lazyAdmin(load: () => Promise<Admin>): Admin {
  const resources = Object.entries(OPERATION_NAMES).map(([resource, verbs]) => {
    const operations = verbs.map((verb): [string, Operation] => [
      verb,
      async (...given) => ((await load()) as unknown as Operations)[resource]?.[verb]?.(...given),
    ]);
    return [resource, Object.fromEntries(operations)] as const;
  });
  return Object.fromEntries(resources) as unknown as Admin;
}
