import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { readExample } from '../../../scripts/lib/examples.mjs';
import { programPath, REDIS } from '../../../scripts/lib/system-programs.mjs';
import type { TestRedis } from '../../support/servers/redis';
import type { Credential, N8n } from './host';

type Creator = Pick<N8n, 'createCredential'>;

export async function addRedisCredential(n8n: Creator, redis: TestRedis): Promise<Credential> {
  const data = { host: '127.0.0.1', port: redis.port, password: redis.password, user: '', database: 0, ssl: false };
  return { id: await n8n.createCredential({ name: 'Redis', type: 'redis', data }), name: 'Redis' };
}

interface WorkflowNode {
  readonly name: string;
  parameters: Record<string, unknown>;
}

/** The example's workflow with real credentials; `change` may set parameters. */
export function queueWorkflow(
  credentials: Record<string, Credential>,
  change: { readonly trigger?: object; readonly agent?: object } = {},
): { readonly name: string; readonly nodes: readonly WorkflowNode[] } & Record<string, unknown> {
  const workflow = readExample('queue.json', credentials);
  const [trigger, agent] = workflow.nodes as readonly WorkflowNode[];
  for (const [node, parameters] of [
    [trigger, change.trigger],
    [agent, change.agent],
  ] as const) {
    if (node !== undefined) node.parameters = { ...node.parameters, ...parameters };
  }
  return workflow;
}

/** As a producer in a shell does it. */
export async function redisCli(redis: TestRedis, ...args: readonly string[]): Promise<string> {
  const connection = ['-h', '127.0.0.1', '-p', String(redis.port), '--no-auth-warning', '-a', redis.password];
  const cli = programPath(REDIS).replace(/server$/, 'cli');
  const { stdout } = await promisify(execFile)(cli, [...connection, ...args]);
  return stdout.trim();
}
