import type { ServerResponse } from 'node:http';

import { type ReceivedRequest, sendJson, startServer, type TestServer } from '../../support/servers/http-server';
import {
  anExport,
  aPlainExport,
  failures,
  makeMigrationFolder,
  type MigrationFolder,
} from '../../support/workflows/migration-folder';
import type { CliOutcome } from '../../support/worlds/cli';

const KEY = 'n8n-key-9f8e7d';

interface Stored {
  readonly id: string;
  readonly name: string;
  readonly nodes: readonly object[];
}

let folder: MigrationFolder;
let server: TestServer;
let stored: Stored[];
/** Answers instead of the API when it is set. */
let fault: ((request: ReceivedRequest, response: ServerResponse) => void) | undefined;

beforeEach(async () => {
  folder = makeMigrationFolder();
  stored = [
    { id: 'shop1', ...withName(anExport('Shop')) },
    { id: 'plain1', ...withName(aPlainExport()) },
    { id: 'help1', ...withName(anExport('Help')) },
  ];
  fault = undefined;
  server = await startServer((request, response) => (fault ?? answer)(request, response));
});
afterEach(async () => {
  await server.close();
  folder.remove();
});

function withName(workflow: ReturnType<typeof anExport>): Omit<Stored, 'id'> & Readonly<Record<string, unknown>> {
  return {
    ...workflow,
    name: workflow.name ?? '',
    // As n8n answers, with what it does not take back.
    settings: { executionOrder: 'v1', executionTimeout: null, somethingNew: true },
    active: true,
    versionId: 'v1',
    meta: null,
    tags: [],
  };
}

/** As much of n8n's public API as is used: two workflows a page. */
function answer({ method, path, headers, body }: ReceivedRequest, response: ServerResponse): void {
  if (headers['x-n8n-api-key'] !== KEY) return sendJson(response, { message: 'unauthorized' }, 401);
  const url = new URL(path, server.url);
  if (method === 'POST') {
    const created = { ...(JSON.parse(body) as Omit<Stored, 'id'>), id: `new${stored.length}` };
    stored.push(created);
    return sendJson(response, created);
  }
  const id = /^\/api\/v1\/workflows\/(.+)$/.exec(url.pathname)?.[1];
  if (id !== undefined) {
    const found = stored.find((workflow) => workflow.id === id);
    return found === undefined ? sendJson(response, { message: 'Not Found' }, 404) : sendJson(response, found);
  }
  const name = url.searchParams.get('name');
  const offset = Number(url.searchParams.get('cursor') ?? 0);
  const matching = stored.filter((workflow) => name === null || workflow.name === name);
  const nextCursor = offset + 2 < matching.length ? String(offset + 2) : null;
  return sendJson(response, { data: matching.slice(offset, offset + 2), nextCursor });
}

const migrate = (words: readonly string[], ...more: string[]): Promise<CliOutcome> =>
  folder.migrate([...words, '--n8n-url', `${server.url}/`, '--sql', folder.at('rows.sql'), ...more], {
    env: { N8N_API_KEY: KEY },
  });
const posts = (): readonly Record<string, unknown>[] =>
  server.requests
    .filter(({ method }) => method === 'POST')
    .map(({ body }) => JSON.parse(body) as Record<string, unknown>);

it('writes a copy with a name of its own, and only what n8n takes', async () => {
  const outcome = await migrate(['shop1']);
  expect(outcome).toMatchObject({ exitCode: 0, stderr: '' });
  expect(outcome.stdout).toContain('shop1 -> new3 Shop (migrated)');
  const [copy] = posts();
  expect(Object.keys(copy ?? {}).sort()).toEqual(['connections', 'name', 'nodes', 'settings']);
  expect(copy).toMatchObject({
    name: 'Shop (migrated)',
    settings: { executionOrder: 'v1' },
    nodes: expect.arrayContaining([
      expect.objectContaining({ type: 'n8n-nodes-universal-ai-agent.universalAiAgent' }),
    ]) as object[],
  });
  expect(copy?.settings).toEqual({ executionOrder: 'v1' });
  expect(folder.read('rows.sql')).toContain('-- shop1.json');
  expect(server.requests.map(({ method }) => method)).not.toContain('PUT');
});

it('reads all of them, page by page, and makes no copy twice', async () => {
  const first = await migrate(['all']);
  expect(first.stdout).toContain('3 files: 2 migrated, 1 left, 0 failed.');
  expect(posts().map(({ name }) => name)).toEqual(['Shop (migrated)', 'Help (migrated)']);
  const second = await migrate(['all']);
  expect(second.exitCode).toBe(0);
  expect(second.stdout).toContain('shop1 -> new3 Shop (migrated) (was there already)');
  expect(posts()).toHaveLength(2);
});

it('shows names of strangers without what a terminal would obey', async () => {
  stored.push({ id: 'evil', ...withName(anExport('Shop \u001b]0;x\u0007\u009b31m')) });
  const { stdout } = await migrate(['evil']);
  expect(stdout).toContain('evil -> new4 Shop');
  expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
});

it('does not take a workflow of the same name for its copy', async () => {
  stored.push({ id: 'other', ...withName(aPlainExport('Shop (migrated)')) });
  await migrate(['shop1']);
  expect(posts()).toHaveLength(1);
});

it('writes nothing to n8n in a dry run', async () => {
  const outcome = await migrate(['all'], '--dry-run');
  expect(outcome.exitCode).toBe(0);
  expect(outcome.stdout).toContain('+++ b/shop1.json');
  expect(posts()).toEqual([]);
  expect(folder.files()).toEqual([]);
});

it('tells of an id that is not there, and does the others', async () => {
  const outcome = await migrate(['gone', 'shop1']);
  expect(outcome.exitCode).toBe(1);
  expect(failures(outcome)).toMatchObject([{ file: 'gone', code: 'N8N_WORKFLOW_NOT_FOUND' }]);
  expect(posts()).toHaveLength(1);
});

it('tells of a copy that n8n refuses, and does the others', async () => {
  fault = (request, response) =>
    request.method === 'POST' && request.body.includes('"Shop (migrated)"')
      ? sendJson(response, { message: `nodes[0] is odd, says ${KEY}` }, 400)
      : answer(request, response);
  const outcome = await migrate(['all']);
  expect(outcome.exitCode).toBe(1);
  expect(failures(outcome)).toMatchObject([
    { file: 'shop1', code: 'N8N_REFUSED', message: expect.stringContaining('nodes[0] is odd, says ***') as string },
  ]);
  expect(stored.map(({ name }) => name)).toContain('Help (migrated)');
});

it.each<[string, (response: ServerResponse) => void]>([
  ['a page that is not there', (response) => void response.writeHead(404).end('<html>Not Found</html>')],
  ['another page', (response) => sendJson(response, { hello: 'world' })],
])('does not take %s for a workflow that is missing or broken', async (_what, answerWith) => {
  fault = (_request, response) => answerWith(response);
  const outcome = await migrate(['shop1', 'help1']);
  expect(outcome).toMatchObject({ exitCode: 1, stdout: '' });
  expect(failures(outcome)).toMatchObject([{ code: 'N8N_REFUSED' }]);
});

describe.each<[string, string, (request: ReceivedRequest, response: ServerResponse) => void]>([
  ['a refused key', 'N8N_UNAUTHORIZED', (_request, response) => sendJson(response, { message: `bad key ${KEY}` }, 401)],
  ['a forbidden scope', 'N8N_UNAUTHORIZED', (_request, response) => sendJson(response, {}, 403)],
  ['a broken server', 'N8N_UNAVAILABLE', (_request, response) => sendJson(response, { message: KEY }, 502)],
  ['a lost connection', 'N8N_UNAVAILABLE', (_request, response) => void response.destroy()],
  ['no API at all', 'N8N_REFUSED', (_request, response) => void response.end('<html>')],
  ['another page', 'N8N_REFUSED', (_request, response) => sendJson(response, { hello: 'world' })],
  ['a server without the API', 'N8N_REFUSED', (_request, response) => sendJson(response, {}, 404)],
  [
    'a redirect',
    'N8N_REFUSED',
    (_request, response) => void response.writeHead(302, { location: 'http://elsewhere.test/' }).end(),
  ],
])('with %s', (_what, code, answerWith) => {
  it(`fails with ${code}, shows no key, and writes nothing`, async () => {
    fault = answerWith;
    const outcome = await migrate(['all']);
    expect(outcome).toMatchObject({ exitCode: 1, stdout: '' });
    expect(failures(outcome)).toMatchObject([{ code }]);
    expect(outcome.stderr).not.toContain(KEY);
    expect(folder.files()).toEqual([]);
  });
});
