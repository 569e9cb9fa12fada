import { WebSocket } from 'ws';

import type { N8n } from './host';

const CHAT_TRIGGER = '@n8n/n8n-nodes-langchain.chatTrigger';

export type ResponseMode = 'lastNode' | 'streaming' | 'responseNodes' | 'responseNode';

/** How a customer reaches a chat: on n8n's own page, or in a window of the agency's site. */
export interface ChatKind {
  readonly mode: 'hostedChat' | 'webhook';
  readonly responseMode: ResponseMode;
}

export const CHAT_KINDS: readonly ChatKind[] = [
  { mode: 'hostedChat', responseMode: 'lastNode' },
  { mode: 'hostedChat', responseMode: 'streaming' },
  { mode: 'hostedChat', responseMode: 'responseNodes' },
  { mode: 'webhook', responseMode: 'lastNode' },
  { mode: 'webhook', responseMode: 'streaming' },
  { mode: 'webhook', responseMode: 'responseNode' },
];

interface Node {
  readonly name: string;
  readonly type: string;
  readonly typeVersion?: number;
  readonly parameters?: object;
  readonly [more: string]: unknown;
}

export interface PublishedChat extends ChatKind {
  readonly id: string;
  readonly path: string;
}

/** Publishes a Chat Trigger and the nodes behind it, one after the other, and at the end the node that the mode needs. */
export async function publishChat(
  n8n: N8n,
  {
    mode,
    responseMode,
    path,
    nodes,
    options = {},
  }: ChatKind & {
    readonly path: string;
    readonly nodes: readonly Node[];
    /** More options of the trigger. */
    readonly options?: object;
  },
): Promise<PublishedChat> {
  const trigger: Node = {
    name: 'Chat',
    type: CHAT_TRIGGER,
    typeVersion: 1.4,
    webhookId: path,
    parameters: { public: true, mode, options: { responseMode, ...options } },
  };
  const all = [trigger, ...nodes, ...answering(responseMode)];
  const { id } = await n8n.createWorkflow({
    name: `Chat ${path}`,
    nodes: all.map((one, index) => ({
      ...{ id: `chat-${index}`, typeVersion: 1, position: [index * 240, 0], parameters: {} },
      ...one,
    })),
    connections: Object.fromEntries(
      all
        .slice(0, -1)
        .map(({ name }, index) => [name, { main: [[{ node: all[index + 1]?.name, type: 'main', index: 0 }]] }]),
    ),
  });
  await n8n.activate(id);
  return { id, path, mode, responseMode };
}

function answering(responseMode: ResponseMode): readonly Node[] {
  if (responseMode === 'responseNode') {
    const parameters = { respondWith: 'firstIncomingItem' };
    return [{ name: 'Respond', type: 'n8n-nodes-base.respondToWebhook', typeVersion: 1.5, parameters }];
  }
  if (responseMode !== 'responseNodes') return [];
  const parameters = { operation: 'send', message: '={{ $json.output }}' };
  return [{ name: 'Reply', type: '@n8n/n8n-nodes-langchain.chat', typeVersion: 1.3, parameters }];
}

/** All that the browser of a customer receives for a message, but what n8n itself adds: ids, node names, times. */
export async function readAsCustomer(n8n: N8n, chat: PublishedChat, chatInput: string): Promise<unknown> {
  const message = { action: 'sendMessage', sessionId: `session-${chat.path}`, chatInput };
  const reply = await n8n.callWebhook(`${chat.path}/chat`, message);
  if (chat.responseMode === 'streaming') return chunksOf(reply.text);
  if (chat.responseMode !== 'responseNodes') return reply.json ?? reply.text;
  const { messages, closed } = openSocket(n8n, message.sessionId, reply.json as Started);
  await closed;
  return messages;
}

/** What has come over the connection by the time that the customer hangs up, without n8n's own token. */
export async function readUntil(hungUp: AbortSignal, n8n: N8n, chat: PublishedChat): Promise<string> {
  let received = '';
  try {
    const reply = await fetch(`${n8n.baseUrl}/webhook/${chat.path}/chat`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ action: 'sendMessage', sessionId: 'stopped', chatInput: 'Take your time.' }),
      signal: hungUp,
    });
    for await (const piece of reply.body ?? []) received += Buffer.from(piece as Uint8Array).toString();
  } catch (error) {
    if (!hungUp.aborted) throw error;
  }
  return received.replace(/"resumeToken":"[^"]*"/, '');
}

/** What n8n itself says of a chunk. */
const N8N_METADATA = ['itemIndex', 'nodeId', 'nodeName', 'runIndex', 'timestamp'];

/** Types and texts, with the pieces of a message put together. */
function chunksOf(text: string): readonly object[] {
  const chunks: Record<string, unknown>[] = [];
  for (const line of text.split('\n').filter((one) => one.trim() !== '')) {
    const { metadata, ...chunk } = JSON.parse(line) as Record<string, unknown>;
    expect(N8N_METADATA).toEqual(expect.arrayContaining(Object.keys(metadata as object)));
    const last = chunks.at(-1);
    if (chunk.type === 'item' && last?.type === 'item')
      last.content = `${String(last.content)}${String(chunk.content)}`;
    else chunks.push(chunk);
  }
  return chunks;
}

export interface Started {
  readonly executionId: string;
  readonly resumeToken: string;
}

/** The messages of Chat nodes, which come over a socket until the execution has ended. */
export function openSocket(
  { baseUrl }: N8n,
  sessionId: string,
  { executionId, resumeToken }: Started,
): { readonly messages: readonly string[]; readonly closed: Promise<void> } {
  const query = new URLSearchParams({ sessionId, executionId, token: resumeToken, isPublic: 'true' });
  const socket = new WebSocket(`${baseUrl.replace('http', 'ws')}/chat?${query.toString()}`);
  const messages: string[] = [];
  socket.on('message', (data: Buffer) => {
    const text = data.toString();
    if (text === 'n8n|heartbeat') socket.send('n8n|heartbeat-ack');
    else if (!text.startsWith('n8n|')) messages.push(text);
  });
  const closed = new Promise<void>((resolve, reject) => {
    socket.on('close', () => resolve());
    socket.on('error', reject);
  });
  return { messages, closed };
}
