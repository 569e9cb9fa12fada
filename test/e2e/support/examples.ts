import { readExample } from '../../../scripts/lib/examples.mjs';
import type { Credential, N8n } from './host';

/** Parameters by the name of their node. */
type Parameters = Readonly<Record<string, object>>;

export interface Examples {
  /** An example with some nodes' parameters set, as a person would after the import. Gives its id. */
  readonly load: (file: string, changes?: Parameters) => Promise<string>;
  /** Sets parameters of a published workflow, and publishes it again. */
  readonly change: (id: string, changes: Parameters) => Promise<void>;
  /** Publishes an example for the time of `use`. */
  readonly whilePublished: <T>(
    file: string,
    how: { readonly changes?: Parameters; readonly use: (id: string) => Promise<T> },
  ) => Promise<T>;
}

interface Node {
  readonly name: string;
  readonly parameters: object;
}

function changed(nodes: readonly Node[], changes: Parameters): readonly Node[] {
  return nodes.map((node) => ({ ...node, parameters: { ...node.parameters, ...changes[node.name] } }));
}

export function examplesIn(n8n: N8n, credentials: Record<string, Credential>): Examples {
  const load: Examples['load'] = async (file, changes = {}) => {
    const workflow = readExample(file, credentials);
    return (await n8n.createWorkflow({ ...workflow, nodes: changed(workflow.nodes as Node[], changes) })).id;
  };
  return {
    load,
    change: async (id, changes) => {
      const { nodes, versionId } = (await n8n.rest('GET', `/workflows/${id}`)) as { nodes: Node[]; versionId: string };
      await n8n.updateWorkflow(id, { versionId, nodes: changed(nodes, changes) });
      await n8n.activate(id);
    },
    whilePublished: async (file, { changes, use }) => {
      const id = await load(file, changes);
      await n8n.activate(id);
      try {
        return await use(id);
      } finally {
        await n8n.deactivate(id);
      }
    },
  };
}

/** A resource locator's value in the mode "By ID". */
export const byId = (value: string): object => ({ __rl: true, mode: 'id', value });
