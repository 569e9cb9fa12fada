import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import path from 'node:path';
import { json } from 'node:stream/consumers';

import { sendJson } from '../../support/servers/http-server';

// Made by and for these tests, until 2126, for slack.com and discord.com.
const TLS = path.resolve(__dirname, '../../fixtures/tls');
const [CERTIFICATE, KEY] = [path.join(TLS, 'messengers.pem'), path.join(TLS, 'messengers.key')];

/** A message that a bot posted, in the words of its platform. */
interface Posted {
  readonly authorization?: string;
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface DiscordMessage {
  readonly id: string;
  readonly channel_id: string;
  readonly content: string;
  readonly timestamp: string;
  readonly author: { readonly id: string; readonly bot?: boolean };
}

export interface Messengers {
  /** Environment of an n8n whose calls of the two platforms come here. */
  readonly env: Readonly<Record<string, string>>;
  readonly posted: readonly Posted[];
  /** The channels' messages, also those of the bot. */
  readonly discord: DiscordMessage[];
  readonly close: () => Promise<void>;
}

/**
 * As much of the APIs of Slack and Discord as bots in n8n use. Their addresses are fixed in n8n's nodes, so this is the HTTPS
 * proxy that such an n8n goes through, and has a certificate for both.
 */
export async function startMessengers(): Promise<Messengers> {
  const posted: Posted[] = [];
  const discord: DiscordMessage[] = [];
  const sockets = new Set<Socket>();
  const secure = createSecureServer(
    { cert: readFileSync(CERTIFICATE), key: readFileSync(KEY) },
    (request, response) => void answer(request, response, { posted, discord }),
  );
  const proxy = createServer((_request, response) => response.writeHead(502).end());
  proxy.on('connect', (request: IncomingMessage, socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    if (!/^(slack|discord)\.com:443$/.test(request.url ?? '')) return socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
    socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
    return secure.emit('connection', socket);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const { port } = proxy.address() as AddressInfo;
  return {
    env: { HTTPS_PROXY: `http://127.0.0.1:${port}`, NO_PROXY: '127.0.0.1,localhost', NODE_EXTRA_CA_CERTS: CERTIFICATE },
    posted,
    discord,
    close: () =>
      new Promise((resolve) => {
        proxy.close(() => resolve());
        proxy.closeAllConnections();
        for (const socket of sockets) socket.destroy();
      }),
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { posted, discord }: Pick<Messengers, 'discord'> & { readonly posted: Posted[] },
): Promise<void> {
  const { host = '', authorization } = request.headers;
  const url = new URL(request.url ?? '', `https://${host}`);
  const channel = /^\/api\/v10\/channels\/(\d+)\/messages$/.exec(url.pathname)?.[1];
  if (request.method === 'POST') {
    const body = (await json(request)) as Posted['body'];
    posted.push({ authorization, path: host + url.pathname, body });
    if (host === 'slack.com') return sendJson(response, { ok: true, channel: body.channel, ts: '1800000000.000100' });
    const message = toMessage(discord, { channel_id: channel ?? '', content: String(body.content), author: BOT });
    discord.push(message);
    return sendJson(response, message);
  }
  // The newest first.
  const inChannel = discord.filter((message) => message.channel_id === channel).reverse();
  sendJson(response, inChannel.slice(0, Number(url.searchParams.get('limit'))));
}

const BOT = { id: '99', bot: true };

/** The next message of a channel. */
export function toMessage(
  before: readonly DiscordMessage[],
  message: Omit<DiscordMessage, 'id' | 'timestamp'> & { readonly minutesAgo?: number },
): DiscordMessage {
  const { minutesAgo = 0, ...rest } = message;
  return {
    ...rest,
    id: String(before.length + 1),
    timestamp: new Date(Date.now() - minutesAgo * 60_000).toISOString(),
  };
}

/** The headers of an event as Slack signs it. */
export function slackHeaders(event: object, secret: string): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const digest = createHmac('sha256', secret)
    .update(`v0:${timestamp}:${JSON.stringify(event)}`)
    .digest('hex');
  return { 'x-slack-request-timestamp': timestamp, 'x-slack-signature': `v0=${digest}` };
}
