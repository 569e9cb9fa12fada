import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

import { eventually } from '../../support/values/agent-fixture';

export interface MailServer {
  readonly port: number;
  /** The mails as they were sent, once there are as many. */
  readonly mails: (count: number) => Promise<readonly string[]>;
  readonly close: () => Promise<void>;
}

/** As much of SMTP as a sender needs, without encryption. */
export async function startMailServer(): Promise<MailServer> {
  const received: string[] = [];
  const server = createServer((socket) => {
    let mail: string | undefined;
    socket.setEncoding('utf8');
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk: string) => {
      if (mail === undefined) {
        const command = chunk.slice(0, 4).toUpperCase();
        if (command === 'DATA') mail = '';
        socket.write(command === 'DATA' ? '354 go on\r\n' : '250 ok\r\n');
        if (command === 'QUIT') socket.end();
        return;
      }
      mail += chunk;
      if (!mail.endsWith('\r\n.\r\n')) return;
      received.push(mail);
      mail = undefined;
      socket.write('250 taken\r\n');
    });
    socket.write('220 here\r\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    mails: (count) => eventually(() => (received.length >= count ? received : undefined)),
    close: async () => {
      server.close();
      await once(server, 'close');
    },
  };
}
