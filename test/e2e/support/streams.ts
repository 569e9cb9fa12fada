import type { N8n } from './host';

interface Chunk {
  readonly type: string;
  readonly content?: string;
}

/** Publishes a workflow whose webhook, its first node, answers in pieces. */
export async function publishStreaming(
  n8n: N8n,
  { nodes, ...workflow }: { readonly nodes: readonly object[] },
): Promise<void> {
  const [webhook, ...others] = nodes as readonly { readonly parameters: object }[];
  const streaming = { ...webhook, parameters: { ...webhook?.parameters, responseMode: 'streaming' } };
  const { id } = await n8n.createWorkflow({ ...workflow, nodes: [streaming, ...others] });
  await n8n.activate(id);
}

/** The pieces of an answer that a webhook streams. */
export function piecesOf(text: string): readonly string[] {
  const chunks = text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Chunk]));
  return chunks.flatMap(({ type, content }) => (type === 'item' && content !== undefined ? [content] : []));
}
