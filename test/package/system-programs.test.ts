import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { CHROMIUM, ensurePrograms, REDIS } from '../../scripts/lib/system-programs.mjs';
import globalSetup from '../support/setup/global-setup.mjs';

const ROOT = path.resolve(__dirname, '../..');
const ROOT_USER = 0;
const A_USER = 1000;

let machine: string;
beforeEach(() => {
  machine = mkdtempSync(path.join(tmpdir(), 'universal-ai-agent-machine-'));
});
afterEach(() => rmSync(machine, { recursive: true, force: true }));

/** Puts a program on the machine that notes how it was called. */
function place(name: string, script = ''): void {
  const file = path.join(machine, name);
  writeFileSync(file, `#!/bin/sh\necho "${name} $*" >> ${machine}/calls\n${script}\n`);
  chmodSync(file, 0o755);
}

/** A package manager that has these packages, each with one program. */
function placeManager(name: string, has: Record<string, string>, more = ''): void {
  const known = Object.entries(has).map(
    ([wanted, program]) => `install*" ${wanted}") echo > ${machine}/${program}; /bin/chmod +x ${machine}/${program};;`,
  );
  const unknown = 'install*) echo "Unable to locate the package" >&2; exit 100;;';
  place(name, ['case "$*" in', more, ...known, unknown, 'esac'].join('\n'));
}

const calls = (): string[] => {
  const file = path.join(machine, 'calls');
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
};

async function ensure(programs: Parameters<typeof ensurePrograms>[0], uid: number): Promise<string> {
  try {
    await ensurePrograms(programs, { env: { PATH: machine }, uid, log: () => undefined });
    return 'all there';
  } catch (error) {
    return (error as Error).message;
  }
}

it('takes Valkey for Redis, and installs nothing then', async () => {
  place('valkey-server');
  place('apt-get');
  expect(await ensure([REDIS], ROOT_USER)).toBe('all there');
  expect(calls()).toEqual([]);
});

it('installs Redis with apt-get as root, from fresh lists', async () => {
  placeManager('apt-get', { 'redis-server': 'redis-server' });
  expect(await ensure([REDIS], ROOT_USER)).toBe('all there');
  expect(calls()).toEqual(['apt-get update', expect.stringMatching(/^apt-get install -y .*redis-server$/)]);
});

it('installs from the lists that there are, where one cannot be read', async () => {
  placeManager('apt-get', { 'redis-server': 'redis-server' }, 'update) exit 100;;');
  expect(await ensure([REDIS], ROOT_USER)).toBe('all there');
});

it('takes the next package where the system has none by the first name', async () => {
  placeManager('dnf', { redis: 'redis-server' });
  expect(await ensure([REDIS], ROOT_USER)).toBe('all there');
  expect(calls()).toEqual(['dnf install -y valkey', 'dnf install -y redis']);
});

it('asks sudo where that asks for no password', async () => {
  placeManager('apt-get', { 'redis-server': 'redis-server' });
  place('sudo', 'shift; "$@"');
  place('true');
  expect(await ensure([REDIS], A_USER)).toBe('all there');
  expect(calls()).toContain('sudo -n apt-get update');
});

it('installs with Homebrew, which wants no root', async () => {
  placeManager('brew', { redis: 'redis-server' });
  expect(await ensure([REDIS], A_USER)).toBe('all there');
  expect(calls()).toEqual(['brew install redis']);
});

it('tells in one message what to install, where it may not do so itself', async () => {
  placeManager('apt-get', { 'redis-server': 'redis-server' });
  place('sudo', 'exit 1');
  expect(await ensure([CHROMIUM, REDIS], A_USER)).toBe(
    'Chromium (or Google Chrome) is missing: none of chromium, chromium-browser, google-chrome, google-chrome-stable is on ' +
      'the PATH. Install it: sudo apt-get install chromium\n' +
      'Redis (or Valkey) is missing: none of redis-server, valkey-server is on the PATH. ' +
      'Install it: sudo apt-get install redis-server',
  );
  expect(calls()).toEqual(['sudo -n true', 'sudo -n true']);
});

it('tells what the package manager had against it', async () => {
  placeManager('apt-get', {});
  const message = await ensure([REDIS], ROOT_USER);
  expect(message).toContain('Redis (or Valkey) is missing');
  expect(message).toContain('apt-get install: Unable to locate the package');
});

it.each(['test', 'test-smoke', 'test-long', 'test-e2e', 'test-all'])(
  'scripts/%s.mjs ends before anything runs',
  (script) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [path.join(ROOT, `scripts/${script}.mjs`)], {
      env: { PATH: machine },
      encoding: 'utf8',
    });
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr.match(/Redis \(or Valkey\) is missing/g)).toHaveLength(1);
  },
);

it('a test run of its own ends before its first test too', async () => {
  const before = process.env.PATH;
  process.env.PATH = machine;
  try {
    await expect(globalSetup()).rejects.toThrow('Redis (or Valkey) is missing');
  } finally {
    process.env.PATH = before;
  }
});
