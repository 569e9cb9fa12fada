import { randomBytes } from 'node:crypto';

import { addTenant, createMigratedDatabase, type TestDatabase } from '../../support/servers/database';
import { startCli } from '../../support/worlds/cli';

// Other tests call the command line in their own process; here each family runs as the built program.
let database: TestDatabase;
let tenant: string;
beforeAll(async () => {
  database = await createMigratedDatabase();
  tenant = await addTenant(database);
});
afterAll(() => database.close());

it.each([
  'runs list --tenant ID',
  'approval list --tenant ID',
  'diagnostics schema',
  'diagnostics summary',
  'tenant list',
  'tier list',
  'tool list --tenant ID',
  'mcp-server list --tenant ID',
  'oauth-login list --tenant ID',
  'usage summary',
  'price list',
  'audit list --tenant ID',
  'secret list --tenant ID',
])('prints JSON and ends with 0: %s', async (line) => {
  const env = { DATABASE_URL: database.url, AGENT_VAULT_KEY: randomBytes(32).toString('base64') };
  const words = line.replace('ID', tenant).split(' ');
  const { exitCode, stdout, stderr } = await startCli(words, { env }).ended;
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(() => JSON.parse(stdout) as unknown).not.toThrow();
});

it('ends quietly when nobody reads what it writes', async () => {
  const env = { DATABASE_URL: database.url, AGENT_VAULT_KEY: randomBytes(32).toString('base64') };
  const { process: child, ended } = startCli(['secret', 'set', 'UNREAD', '--shared'], { env, keepsInput: true });
  child.stdout?.destroy();
  child.stdin?.end('value');
  expect(await ended).toMatchObject({ exitCode: 0, stderr: '' });
});

it('refuses wrong use with 2, and prints the help and a new key', async () => {
  expect(await startCli(['secret', 'set']).ended).toMatchObject({ exitCode: 2, stdout: '' });
  expect((await startCli(['help']).ended).stdout).toContain('universal-ai-agent <command>');
  expect((await startCli(['keygen']).ended).stdout).toMatch(/^[A-Za-z0-9+/]{43}=\n$/);
});

it('a command that nothing goes on with has failed, and says so', async () => {
  // A socket that throws leaves the driver's promise open for ever.
  const preload = `import net from 'node:net'; net.Socket.prototype.connect = () => { throw new Error('no socket'); };`;
  const { ended } = startCli(['diagnostics', 'schema'], {
    env: {
      DATABASE_URL: 'postgres://u:p@127.0.0.1:1/db',
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(preload)}`,
    },
  });
  expect(await ended).toMatchObject({
    exitCode: 1,
    stdout: '',
    stderr: expect.stringContaining('without a result') as string,
  });
});
