import { toolReply } from '../../support/servers/model-server';
import { eventually } from '../../support/values/agent-fixture';
import type { SubNode } from './connected';
import type { N8n } from './host';
import { type MailServer, startMailServer } from './mail';

export interface Reviews {
  /** Asks a person by mail before each call of the tools that are wired to it. */
  readonly node: SubNode;
  /** Approves what was asked, once as many are asked, the last one first. */
  readonly approve: (count: number) => Promise<void>;
  readonly close: MailServer['close'];
}

export async function startReviews(n8n: N8n): Promise<Reviews> {
  const mail = await startMailServer();
  const data = { host: '127.0.0.1', port: mail.port, secure: false, disableStartTls: true, user: '', password: '' };
  const smtp = { id: await n8n.createCredential({ name: 'Mail', type: 'smtp', data }), name: 'Mail' };
  const letter = { fromEmail: 'a@example.com', toEmail: 'b@example.com', subject: 'May it?', message: 'May it?' };
  return {
    node: {
      ...{ name: 'Ask', type: 'n8n-nodes-base.emailSendHitlTool', version: 2.1, output: 'ai_tool' },
      ...{ parameters: { ...letter, options: {} }, credentials: { smtp } },
    },
    approve: async (count) => {
      const mails = await mail.mails(count);
      for (const one of [...mails].reverse()) await follow(linkIn(one));
    },
    close: mail.close,
  };
}

/** The reply of a model that asks for the tool with these arguments, as it is shown it behind a review. */
export const asksForReview = (tool: string, input: object): ReturnType<typeof toolReply> =>
  toolReply([{ name: tool, arguments: { toolParameters: input, hitlParameters: {} } }]);

function linkIn(mail: string): string {
  const text = mail.replaceAll('=\r\n', '').replaceAll('=3D', '=').replaceAll('&amp;', '&');
  const [link = ''] = /http[^"\s]+approved=true[^"\s]*/u.exec(text) ?? [];
  return link;
}

/** Answered as soon as the execution waits. n8n takes no word from programs, which follow links in mails too. */
async function follow(link: string): Promise<void> {
  const headers = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' };
  await eventually(async () => ((await fetch(link, { headers })).ok ? true : undefined));
}
