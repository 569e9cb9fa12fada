import { spawn, type ChildProcess } from 'node:child_process';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';

import { Redis } from 'ioredis';

export interface TestRedis {
  readonly port: number;
  readonly password: string;
  readonly url: string;
  /** For the test to write with. */
  readonly client: Redis;
  readonly close: () => Promise<void>;
}

/** A password that has to be encoded in a URL. */
const PASSWORD = 'CANARY p/w:@%ü';

/** A real Redis of its own on a free loopback port. Fails where `redis-server` is not installed: it is needed, not optional. */
export async function startRedis(): Promise<TestRedis> {
  const port = await freePort();
  const child = spawn('redis-server', [
    ...['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'],
    ...['--requirepass', PASSWORD],
  ]);
  process.once('exit', () => child.kill('SIGKILL'));
  await ready(child);
  const client = new Redis({ host: '127.0.0.1', port, password: PASSWORD });
  return {
    port,
    password: PASSWORD,
    url: `redis://:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/0`,
    client,
    close: async () => {
      client.disconnect();
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await ended;
    },
  };
}

function ready(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (output.includes('Ready to accept connections')) resolve();
    });
    child.once('error', () =>
      reject(new Error('redis-server is not installed: apt-get install -y redis-server, or brew install redis')),
    );
    child.once('exit', () => reject(new Error(`redis-server ended: ${output}`)));
  });
}

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
