import { RuntimeError } from '../errors/runtime-error';
import type { Admin } from './contract/admin';

type Operation = (...given: readonly unknown[]) => Promise<unknown>;
type Operations = Readonly<Record<string, Readonly<Record<string, Operation>>>>;

/** Administration that is loaded with its first use: no run needs it. */
export function lazyAdmin(load: () => Promise<Admin>): Admin {
  const operations = anyName((resource) =>
    anyName((verb): Operation => async (...given) => {
      const operation = ((await load()) as unknown as Operations)[resource]?.[verb];
      if (operation !== undefined) return operation(...given);
      const issues = 'there is no such operation';
      throw new RuntimeError('ADMIN_INPUT_INVALID', { operation: `${resource}.${verb}`, issues });
    }),
  );
  return operations as unknown as Admin;
}

/** An object that has something under every name, but is no promise. */
function anyName<T>(make: (name: string) => T): Readonly<Record<string, T>> {
  return new Proxy<Record<string, T>>(
    {},
    {
      // What every object has is asked for by whatever prints or compares it.
      get: (target, name): T | undefined => {
        if (typeof name === 'symbol' || name in target) return Reflect.get(target, name) as T | undefined;
        return ['then', 'toJSON', 'asymmetricMatch'].includes(name) ? undefined : make(name);
      },
    },
  );
}
