import type { ToolRow } from '../contracts/tenant';
import { type BuildTools, type BuiltTools } from '../tools/build-tools';
import type { ToolOffer, ToolSource } from './tool-source';

/** The rows of the tenant's catalogue. The same array of rows gives the same offer again. */
export function createCatalogueSource(build: BuildTools): ToolSource {
  const offers = new WeakMap<readonly ToolRow[], Promise<ToolOffer>>();
  return {
    offer: ({ snapshot }) => {
      const known = offers.get(snapshot.tools) ?? build(snapshot.tools).then(toOffer);
      offers.set(snapshot.tools, known);
      return known;
    },
  };
}

function toOffer({ tools, warnings }: BuiltTools): ToolOffer {
  return {
    tools: tools.map(({ tool, ...facts }) => ({ ...facts, name: tool.definition.name, build: () => tool })),
    warnings,
  };
}
