import { sendJson, startServer } from '../../support/servers/http-server';
import { eventually } from '../../support/values/agent-fixture';

interface Sent {
  readonly chat_id: number;
  readonly text: string;
}

export interface Telegram {
  readonly url: string;
  /** A person writes to the bot: its webhook is called. */
  readonly receive: (chat: number, text: string) => Promise<void>;
  /** What the bot wrote, once there are as many messages. */
  readonly sent: (count: number) => Promise<readonly Sent[]>;
  readonly close: () => Promise<void>;
}

/** As much of the Telegram Bot API as a bot in n8n uses. */
export async function startTelegram(): Promise<Telegram> {
  let hook: { readonly url: string; readonly secret_token?: string } | undefined;
  const messages: Sent[] = [];
  const server = await startServer((request, response) => {
    if (request.path.endsWith('/setWebhook')) hook = JSON.parse(request.body) as NonNullable<typeof hook>;
    if (request.path.endsWith('/sendMessage')) messages.push(JSON.parse(request.body) as Sent);
    sendJson(response, { ok: true, result: request.path.endsWith('/getWebhookInfo') ? { url: '' } : {} });
  });
  return {
    url: server.url,
    receive: async (chat, text) => {
      const { url, secret_token: secret = '' } = await eventually(() => hook);
      const message = { message_id: 1, chat: { id: chat }, from: { id: chat }, text };
      await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-telegram-bot-api-secret-token': secret },
        body: JSON.stringify({ update_id: Date.now(), message }),
      });
    },
    sent: (count) => eventually(() => (messages.length >= count ? messages : undefined)),
    close: server.close,
  };
}
