import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { RuntimeError } from '../errors/runtime-error';
import { errorText } from '../errors/to-runtime-error';
import type { Consumer } from '../worker';

interface HealthServer {
  readonly address: { readonly host: string; readonly port: number };
  /** Marks the worker as not ready: an orchestrator sends nothing more, and does not think it dead. */
  readonly markEnding: () => void;
  readonly close: () => Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly type: string;
}

const JSON_TYPE = 'application/json; charset=utf-8';
const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/**
 * `/healthz`: whether Redis answers, with the counts of the queue; `/readyz`: whether it also takes tasks; `/metrics`:
 * for Prometheus. Before there is a consumer only `/healthz` answers 200: a
 * start that waits must not be ended for it. Rejects with CONFIG_INVALID when the address is taken.
 */
export async function serveHealth(
  consumerOf: () => Consumer | undefined,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<HealthServer> {
  let isEnding = false;
  const answer = async (path: string): Promise<Answer> => {
    const isKnown = ['/metrics', '/healthz', '/readyz'].includes(path);
    if (!isKnown) return json(404, { error: 'see /healthz, /readyz and /metrics' });
    const consumer = consumerOf();
    if (consumer === undefined) {
      return json(path === '/healthz' ? 200 : 503, { ok: false, starting: true, ending: isEnding });
    }
    if (path === '/metrics') return { status: 200, body: await consumer.metrics(), type: METRICS_TYPE };
    const health = await consumer.health();
    const isFine = health.ok && (path === '/healthz' || !isEnding);
    return json(isFine ? 200 : 503, { ...health, ending: isEnding });
  };
  const server = createServer((request, response) => {
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const [path = ''] = (request.url ?? '').split('?', 1);
    void (isRead ? answer(path) : Promise.resolve(json(405, { error: 'only GET and HEAD' })))
      .catch((error: unknown) => json(500, { error: errorText(error) }))
      .then(({ status, body, type }) => {
        response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(body);
      });
  });
  await listen(server, host, port);
  return {
    address: { host, port: (server.address() as AddressInfo).port },
    markEnding: () => (isEnding = true),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function json(status: number, value: unknown): Answer {
  return { status, body: `${JSON.stringify(value)}\n`, type: JSON_TYPE };
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      const issues = `AGENT_WORKER_HOST and AGENT_WORKER_PORT: ${errorText(error)}`;
      reject(new RuntimeError('CONFIG_INVALID', { issues }, { cause: error }));
    });
    server.listen(port, host, resolve);
  });
}
