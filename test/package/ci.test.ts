import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const CI = path.resolve(__dirname, '../../.ci');

let machine: string;
beforeEach(() => {
  machine = mkdtempSync(path.join(tmpdir(), 'universal-ai-agent-ci-'));
  place('npm', '');
});
afterEach(() => rmSync(machine, { recursive: true, force: true }));

/** Puts a program before those of the system; it notes how it was called. */
function place(name: string, script: string): void {
  const file = path.join(machine, name);
  writeFileSync(file, `#!/bin/sh\necho "${name} $*" >> ${machine}/calls\n${script}\n`);
  chmodSync(file, 0o755);
}

const runs = (): string[] => {
  const file = path.join(machine, 'calls');
  const calls = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  return calls.filter((call) => /^npm (run|test)/.test(call));
};

function run(
  script: string,
  ...args: readonly string[]
): {
  status: number | null;
  stdout: string;
  stderr: string;
} {
  const env = { PATH: `${machine}:${process.env.PATH ?? ''}`, HOME: machine };
  return spawnSync(path.join(CI, script), args, { env, encoding: 'utf8' });
}

it('makes no minimal system without root rights, and says so', () => {
  place('id', 'echo 1000');
  const { status, stderr } = run('in-minimal-root', 'npm test');
  expect({ status, stderr }).toEqual({
    status: 75,
    stderr: 'No minimal system can be made here: root rights are missing.\n',
  });
  expect(runs()).toEqual([]);
});

it('makes none where mounts are not allowed, and leaves nothing behind', () => {
  place('id', 'echo 0');
  place('apt-get', '');
  place('unshare', 'exit 1');
  expect(run('in-minimal-root', 'npm test').status).toBe(75);
  expect(existsSync(path.join(machine, '.cache'))).toBe(false);
});

it('then runs its three commands in place, says what that cannot show, and ends with the sum of their counts', () => {
  place('id', 'echo 1000');
  place('npm', 'case "$*" in test) echo "3 passed, 0 failed";; *smoke) echo "2 passed, 0 failed";; esac');
  const { status, stdout } = run('run');
  expect(status).toBe(0);
  expect(stdout).toContain('a step that is missing from the installation is not noticed');
  expect(stdout).toMatch(/\nok after \d+ s: npm run test:smoke\n5 passed, 0 failed\n$/);
  expect(runs()).toEqual(['npm run demo', 'npm test', 'npm run test:smoke']);
});

it.each([
  { command: 'run demo', says: '', called: ['npm run demo'], last: '0 passed, 1 failed' },
  {
    command: 'test',
    says: 'echo "4 passed, 2 failed"; ',
    called: ['npm run demo', 'npm test'],
    last: '4 passed, 2 failed',
  },
])('ends at the first command that fails: npm $command', ({ command, says, called, last }) => {
  place('id', 'echo 1000');
  place('npm', `case "$*" in "${command}") ${says}exit 1;; esac`);
  const { status, stdout } = run('run');
  expect(status).toBe(1);
  expect(stdout.trimEnd().split('\n').at(-1)).toBe(last);
  expect(runs()).toEqual(called);
});
