import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { Redis } from 'ioredis';

import { programPath, REDIS } from '../../../scripts/lib/system-programs.mjs';

export interface TestRedis {
  readonly port: number;
  readonly password: string;
  readonly url: string;
  /** For the test to write with. */
  readonly client: Redis;
  /** Ends the server and starts it again on the same port; only a durable one keeps its data. */
  readonly restart: (signal?: NodeJS.Signals) => Promise<void>;
  readonly stop: () => Promise<void>;
  /** After `stop`. */
  readonly start: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** A password that has to be encoded in a URL. */
const PASSWORD = 'CANARY p/w:@%ü';

/**
 * A real Redis (or Valkey) of its own on a free loopback port.
 * A durable one has every write on disk before it answers; `settings` are further ones of redis-server.
 */
export async function startRedis(
  options: { readonly durable?: boolean; readonly settings?: readonly string[] } = {},
): Promise<TestRedis> {
  const port = await freePort();
  const directory = mkdtempSync(path.join(tmpdir(), 'universal-ai-agent-redis-'));
  const args = [
    ...['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', directory, '--requirepass', PASSWORD],
    ...(options.durable === true ? ['--appendonly', 'yes', '--appendfsync', 'always'] : ['--appendonly', 'no']),
    ...(options.settings ?? []),
  ];
  let server = await startServer(args);
  const start = async (): Promise<void> => {
    server = await startServer(args);
  };
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const ended = new Promise((resolve) => server.once('exit', resolve));
    server.kill(signal);
    await ended;
  };
  process.once('exit', () => {
    server.kill('SIGKILL');
    rmSync(directory, { recursive: true, force: true });
  });
  const client = new Redis({ host: '127.0.0.1', port, password: PASSWORD });
  // While the server is away; the client connects again by itself.
  client.on('error', () => undefined);
  return {
    port,
    password: PASSWORD,
    url: `redis://:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/0`,
    client,
    restart: async (signal = 'SIGTERM') => {
      await end(signal);
      await start();
    },
    stop: () => end('SIGTERM'),
    start,
    close: async () => {
      client.disconnect();
      await end('SIGKILL');
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function startServer(args: readonly string[]): Promise<ChildProcess> {
  const child = spawn(programPath(REDIS), args);
  await ready(child);
  return child;
}

function ready(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (output.includes('Ready to accept connections')) resolve();
    });
    child.once('error', reject);
    child.once('exit', () => reject(new Error(`redis-server ended: ${output}`)));
  });
}

/**
 * A port that was free a moment ago. Not one of those that systems hand out by themselves: while a server restarts, such a port
 * is taken by whoever asks for any, or by a client that tries to connect to it and meets itself.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 30_000);
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const isListening = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true));
  });
  if (isListening) await new Promise((resolve) => server.close(resolve));
  return isListening;
}
