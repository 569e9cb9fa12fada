import type { IExecuteFunctions } from 'n8n-workflow';

import { readConfig } from '../../nodes/UniversalAiAgentAdmin/read-config';
import * as library from '../../runtime/host';

const CREDENTIALS: Readonly<Record<string, object>> = {
  postgres: { host: 'db', port: 5432, database: 'shop', user: 'n8n', password: 'p' },
  openAiApi: {
    apiKey: 'sk-other',
    url: 'https://models.example/v1',
    organizationId: 'org-1',
    header: true,
    headerName: 'x-team',
    headerValue: 'blue',
  },
  openRouterApi: { apiKey: 'sk-router', url: 'https://router.example/v1' },
  redis: { host: 'redis', port: 6379 },
  universalAiAgentVaultApi: { secretKey: 'key' },
};

/** The Admin node with these of the credentials. */
function admin(resource: string, operation: string, ...types: readonly string[]): IExecuteFunctions {
  const parameters: Readonly<Record<string, string>> = { resource, operation };
  const chosen = Object.fromEntries(types.map((type) => [type, { id: type, name: type }]));
  return {
    getNode: () => ({ parameters, credentials: chosen }),
    getNodeParameter: (name: string, _index: number, fallback?: unknown) => parameters[name] ?? fallback,
    getCredentials: (type: string) => Promise.resolve(CREDENTIALS[type]),
  } as unknown as IExecuteFunctions;
}

it('Admin resumes a run with the organisation and the header of an OpenAI credential', async () => {
  expect(await readConfig(admin('approval', 'decide', 'postgres', 'openAiApi'), library)).toMatchObject({
    model: {
      apiKey: 'sk-other',
      baseUrl: 'https://models.example/v1',
      headers: { 'OpenAI-Organization': 'org-1', 'x-team': 'blue' },
    },
  });
});

it('Admin reads what its operation uses, and asks for nothing that the node has not', async () => {
  const all = ['postgres', 'openRouterApi', 'redis', 'universalAiAgentVaultApi'];
  expect(await readConfig(admin('diagnostics', 'run', ...all), library)).toMatchObject({
    database: { host: 'db', database: 'shop' },
    model: { apiKey: 'sk-router', headers: {} },
    redis: { url: 'redis://:@redis:6379/0' },
    vaultKey: 'key',
  });
  expect(Object.keys(await readConfig(admin('usage', 'report', ...all), library))).toEqual(['database']);
  expect(Object.keys(await readConfig(admin('diagnostics', 'run', 'postgres'), library))).toEqual(['database']);
});
