import { createRequire } from 'node:module';

/**
 * A module of n8n's own that this package does not bring, such as LangChain: objects that are handed to n8n's sub-nodes have
 * to be of n8n's own classes. Another package beside this one may have brought a copy, so n8n's are looked at first.
 * Undefined where n8n has none of this name.
 */
export function hostModule(name: string): Readonly<Record<string, unknown>> | undefined {
  for (const find of places()) {
    try {
      return find()(name) as Readonly<Record<string, unknown>>;
    } catch {
      // Not there; perhaps from the next place.
    }
  }
  return undefined;
}

/** n8n's package of AI nodes, for which the objects are, then its program, and this package. */
function places(): readonly (() => NodeJS.Require)[] {
  const from = (file: string) => () => createRequire(file);
  const main = require.main?.filename ?? process.argv[1];
  if (main === undefined) return [from(__filename)];
  const ofNodes = () => createRequire(createRequire(main).resolve('@n8n/n8n-nodes-langchain/package.json'));
  return [ofNodes, from(main), from(__filename)];
}
