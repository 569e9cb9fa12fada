import type { ModelServer } from '../../support/servers/model-server';
import { eventually } from '../../support/values/agent-fixture';
import { ended, lastExecutionId, type N8n } from './host';

interface Chunk {
  readonly type: string;
  readonly content?: string;
}

interface Workflow {
  readonly nodes: readonly object[];
}

/** The workflow with a webhook, its first node, that answers in pieces. */
export function streaming({ nodes, ...workflow }: Workflow): Record<string, unknown> {
  const [webhook, ...others] = nodes as readonly { readonly parameters: object }[];
  const first = { ...webhook, parameters: { ...webhook?.parameters, responseMode: 'streaming' } };
  return { ...workflow, nodes: [first, ...others] };
}

/** Publishes it; resolves with its id. */
export async function publishStreaming(n8n: N8n, workflow: Workflow): Promise<string> {
  const { id } = await n8n.createWorkflow(streaming(workflow));
  await n8n.activate(id);
  return id;
}

/** The pieces of an answer that a webhook streams. */
export function piecesOf(text: string): readonly string[] {
  const chunks = text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Chunk]));
  return chunks.flatMap(({ type, content }) => (type === 'item' && content !== undefined ? [content] : []));
}

interface Stopped {
  readonly models: ModelServer;
  /** A workflow that streams, under its path. */
  readonly workflow: { readonly id: string; readonly path: string };
  readonly body: object;
}

/** Stops an execution in the middle of an answer; resolves with its status once the model's connection is closed. */
export async function stopInTheMiddle(n8n: N8n, { models, workflow, body }: Stopped): Promise<string> {
  let closed = false;
  models.script((_request, response) => {
    response.on('close', () => (closed = true));
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'Ada has two ' } }] })}\n\n`);
  });
  models.received.length = 0;
  // n8n leaves the connection open when an execution is stopped, also with its own agents.
  const hangUp = new AbortController();
  const reply = n8n.callWebhook(workflow.path, body, hangUp).catch(() => undefined);
  await eventually(() => Promise.resolve(models.received.length > 0 ? true : undefined));
  const running = await lastExecutionId(n8n, workflow.id);
  await n8n.stopExecution(running);
  const { status } = await ended(n8n, running);
  await eventually(() => Promise.resolve(closed ? true : undefined));
  hangUp.abort();
  await reply;
  return status;
}
