import { createRequire } from 'node:module';

/**
 * A module of n8n's own that this package does not bring, such as LangChain: objects that are handed to n8n's sub-nodes have
 * to be of n8n's own classes. Looked for from n8n's program first, since another package beside this one may have brought
 * a copy. Undefined where n8n has none of this name.
 */
export function hostModule(name: string): Readonly<Record<string, unknown>> | undefined {
  for (const file of [require.main?.filename, __filename]) {
    if (file === undefined) continue;
    try {
      return createRequire(file)(name) as Readonly<Record<string, unknown>>;
    } catch {
      // Not there; perhaps from the next place.
    }
  }
  return undefined;
}
