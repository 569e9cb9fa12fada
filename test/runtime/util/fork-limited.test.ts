import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { askFork, forkLimited } from '../../../runtime/util/fork-limited';

/** Uses as much processor time as it is asked to; with `null` it never ends. */
const PROGRAM = `
const used = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
process.on('message', ({ ms }) => {
  const begun = used();
  while (ms === null || used() - begun < ms);
  process.send({ env: Object.keys(process.env).length });
});`;

let folder: string;
let child: ChildProcess;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'universal-ai-agent-fork-'));
  writeFileSync(path.join(folder, 'program.cjs'), PROGRAM);
});
beforeEach(() => {
  child = forkLimited(path.join(folder, 'program.cjs'), 64, 1000);
});
afterEach(() => child.kill('SIGKILL'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('ends a program that takes more processor time than its job is allowed', async () => {
  await expect(askFork(child, { ms: null })).rejects.toThrow('the process ended');
});

it('counts the processor time of each job by itself, and hands over no environment', async () => {
  for (const ms of [600, 600]) expect(await askFork(child, { ms })).toEqual({ env: 0 });
});
