import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, request as send, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { freePort } from '../../../scripts/lib/ports.mjs';
import { CHROMIUM, programPath } from '../../../scripts/lib/system-programs.mjs';
import { eventually } from '../../support/values/agent-fixture';

export interface RealMcpServer {
  readonly url: string;
  /** The JSON-RPC methods that it was sent, oldest first. */
  readonly methods: string[];
  readonly close: () => Promise<void>;
}

const PACKAGES = path.resolve(__dirname, '../../mcp/node_modules');

/** The protocol's own example server, over streamable HTTP. */
export async function startEverything(): Promise<RealMcpServer> {
  const port = await freePort();
  const script = path.join(PACKAGES, '@modelcontextprotocol/server-everything/dist/index.js');
  return behindRecorder(port, spawnNode([script, 'streamableHttp'], { PORT: String(port) }));
}

/** Playwright's server with a headless Chromium. */
export async function startPlaywright(): Promise<RealMcpServer> {
  const port = await freePort();
  const script = path.join(PACKAGES, '@playwright/mcp/cli.js');
  const options = ['--port', String(port), '--host', '127.0.0.1', '--headless', '--isolated', '--no-sandbox'];
  return behindRecorder(port, spawnNode([script, ...options, '--executable-path', programPath(CHROMIUM)]));
}

/** In a folder of its own, since servers write files where they stand. */
function spawnNode(args: readonly string[], env: Record<string, string> = {}): ChildProcess {
  const cwd = mkdtempSync(path.join(tmpdir(), 'universal-ai-agent-mcp-'));
  const child = spawn(process.execPath, args, { cwd, env: { ...process.env, ...env }, stdio: 'ignore' });
  child.on('exit', () => rmSync(cwd, { recursive: true, force: true }));
  return child;
}

/** Puts a proxy before a server that notes what it is sent, since real servers do not tell. */
async function behindRecorder(port: number, child: ChildProcess): Promise<RealMcpServer> {
  await eventually(async () => ((await accepts(port)) ? true : undefined));
  const methods: string[] = [];
  const proxy = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      if (body !== '') methods.push((JSON.parse(body) as { method?: string }).method ?? 'reply');
      const onward = { port, host: '127.0.0.1', path: request.url, method: request.method };
      const headers = { ...request.headers, host: `localhost:${port}` };
      const upstream = send({ ...onward, headers }, (reply) => {
        response.writeHead(reply.statusCode ?? 502, reply.headers);
        reply.pipe(response);
      });
      response.on('close', () => upstream.destroy());
      upstream.on('error', () => response.destroy());
      upstream.end(body);
    });
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const { port: shown } = proxy.address() as AddressInfo;
  return { url: `http://127.0.0.1:${shown}/mcp`, methods, close: () => stop(proxy, child) };
}

async function stop(proxy: Server, child: ChildProcess): Promise<void> {
  proxy.closeAllConnections();
  await new Promise((resolve) => proxy.close(resolve));
  if (child.exitCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = send({ port, host: '127.0.0.1', path: '/' }, (reply) => {
      reply.resume();
      resolve(true);
    });
    probe.on('error', () => resolve(false));
    probe.end();
  });
}
