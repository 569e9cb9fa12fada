import type { IExecuteFunctions, INode } from 'n8n-workflow';

import { readEgress } from '../../nodes/shared/egress';
import { readRedis } from '../../nodes/shared/redis';
import { postgresCredential } from '../../scripts/lib/postgres-credential.mjs';
import { addTenant, createMigratedDatabase, giveTool, type TestDatabase } from '../support/servers/database';
import { type ModelServer, startModelServer, textReply, toolReply } from '../support/servers/model-server';
import { startRedis, type TestRedis } from '../support/servers/redis';
import { outputOf, runInEngine } from '../support/worlds/n8n-engine';

describe("n8n's rules for outgoing requests", () => {
  it('are those that n8n gives', () => {
    const filter = { validateUrl: () => undefined };
    const context = { helpers: { getSecureEgressFilter: () => filter } } as unknown as IExecuteFunctions;
    expect(readEgress(context)).toBe(filter);
  });

  it('are none where n8n is too old to give any', () => {
    expect(readEgress({ helpers: {} } as unknown as IExecuteFunctions)).toBeUndefined();
  });
});

describe("n8n's Redis credential", () => {
  it.each([
    [{ host: 'cache', port: 6380, password: '', user: '', database: 2, ssl: false }, 'redis://:@cache:6380/2', true],
    [{ host: '::1', password: 'p/w:@%ü', user: 'a b' }, 'redis://a%20b:p%2Fw%3A%40%25%C3%BC@[::1]:6379/0', true],
    [{ host: 'cache', ssl: true, disableTlsVerification: true }, 'rediss://:@cache:6379/0', false],
  ])('%j is read as %s', (credential, url, rejectUnauthorized) => {
    expect(readRedis(credential)).toEqual({ url, rejectUnauthorized });
  });
});

describe('in a workflow', () => {
  let database: TestDatabase;
  let models: ModelServer;
  let redis: TestRedis;

  beforeAll(async () => {
    [database, models, redis] = await Promise.all([createMigratedDatabase(), startModelServer(), startRedis()]);
  });
  afterAll(() => Promise.all([database.close(), models.close(), redis.close()]));

  it('the Redis credential of the node serves redis_get', async () => {
    const tenant = await addTenant(database);
    await giveTool(database, tenant, { code: 'redis_get', transport: 'builtin' });
    await redis.client.set(`tenant:${tenant}:cart`, 'two bells');
    models.script(toolReply([{ name: 'redis_get', arguments: { key: 'cart' } }]), textReply('Done'));
    const credentials = {
      openRouterApi: { apiKey: 'k', url: models.url },
      postgres: postgresCredential(database.url),
      redis: { host: '127.0.0.1', port: redis.port, password: redis.password, user: '', database: 0, ssl: false },
    };
    const node = (id: string, type: string, more: object): INode => ({
      id,
      name: id,
      type,
      typeVersion: 4,
      position: [0, 0],
      parameters: {},
      ...more,
    });
    const agent = node('agent', 'n8n-nodes-universal-ai-agent.universalAiAgent', {
      parameters: { tenantId: '={{ $json.tenant }}', tier: 'pro', message: 'x', options: { useRedis: true } },
      credentials: Object.fromEntries(Object.keys(credentials).map((type) => [type, { id: type, name: type }])),
    });
    const run = await runInEngine({
      workflow: {
        nodes: [node('items', 'test.items', {}), agent],
        connections: { items: { main: [[{ node: 'agent', type: 'main', index: 0 }]] } },
      },
      items: [{ tenant }],
      credentials,
    });
    expect(outputOf(run, 'agent')[0]?.json).toMatchObject({
      result: { tool_calls: [{ tool: 'redis_get', result: { key: 'cart', value: 'two bells' } }] },
    });
  });
});
