import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';

import type { BrowserLogin } from '../mcp/oauth/oauth-provider';
import { terminal } from './terminal';

/**
 * A login in a browser that comes back to this machine's loopback. Where the browser runs elsewhere, the address that
 * it ends on can be pasted on standard input instead.
 */
export function waitForBrowser(port: number): BrowserLogin & { readonly close: () => void } {
  const redirectUrl = `http://127.0.0.1:${port}/callback`;
  let stop = (): void => undefined;
  return {
    redirectUrl,
    authorize: (url) =>
      new Promise((resolve, reject) => {
        const done = (params: URLSearchParams): void => {
          // A second login may come, and needs the port again.
          stop();
          resolve(params);
        };
        const { server, input } = listen(port, done, reject);
        stop = () => {
          server.close();
          server.closeIdleConnections();
          input.close();
          (terminal().stdin as Partial<Socket>).unref?.();
        };
        // The browser may be back before a person has read this, so it comes last.
        server.on('listening', () => terminal().stderr.write(invitation(url)));
      }),
    close: () => stop(),
  };
}

const invitation = (url: URL): string =>
  `Open this address in a browser and log in:\n\n  ${url.href}\n\n` +
  'If the browser runs on another machine, paste the address that it ends on here.\n';

function listen(
  port: number,
  answer: (params: URLSearchParams) => void,
  fail: (error: Error) => void,
): { readonly server: Server; readonly input: ReturnType<typeof createInterface> } {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', `http://127.0.0.1:${port}`);
    const isAnswer = url.pathname === '/callback' && (url.searchParams.has('code') || url.searchParams.has('error'));
    response.writeHead(isAnswer ? 200 : 404, { 'content-type': 'text/plain' });
    response.end(isAnswer ? 'Logged in. You can close this window.' : 'Not found');
    if (isAnswer) answer(url.searchParams);
  });
  server.on('error', fail).listen(port, '127.0.0.1');
  const input = createInterface({ input: terminal().stdin });
  input.on('line', (line) => {
    const pasted = URL.parse(line.trim());
    if (pasted?.searchParams.has('code') === true) answer(pasted.searchParams);
  });
  return { server, input };
}
