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

function run(script: string, ...args: readonly string[]): { status: number | null; stderr: string } {
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

it("then runs the README's two commands in place, and says what that cannot show", () => {
  place('id', 'echo 1000');
  const { status, stderr } = run('run');
  expect(status).toBe(0);
  expect(stderr).toContain('a step that is missing from the installation is not noticed');
  expect(runs()).toEqual(['npm run demo', 'npm test', 'npm run test:e2e', 'npm run test:long']);
});

it('ends at the first command that fails', () => {
  place('id', 'echo 1000');
  place('npm', 'case "$*" in test) exit 1;; esac');
  expect(run('run').status).toBe(1);
  expect(runs()).toEqual(['npm run demo', 'npm test']);
});
