import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { DCLinter } from 'dclint';
import { parse } from 'yaml';

const ROOT = path.resolve(__dirname, '../..');
const FILE = path.join(ROOT, 'compose.yaml');

interface Service {
  readonly image: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string | null>>;
  readonly ports?: readonly string[];
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly deploy?: { readonly replicas: number };
  readonly depends_on?: Readonly<Record<string, object>>;
  readonly volumes?: readonly { readonly type: string; readonly source: string }[];
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

it('sets no variable that its reader does not know', () => {
  const files = readdirSync(path.join(ROOT, 'runtime/cli')).filter((name) => name.endsWith('.ts'));
  const sources = files.map((name) => `runtime/cli/${name}`);
  const ours = namesIn(sources, /^(AGENT|DATABASE|REDIS|OPENROUTER)_/);
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
