import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const ROOT = path.resolve(__dirname, '../..');
const RUNNER = path.join(ROOT, 'scripts/lib/run-tests.mjs');

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'universal-ai-agent-runner-'));
  place('jest.config.js', "module.exports = { projects: [{ displayName: 'unit', rootDir: __dirname }] };");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function place(name: string, text: string): void {
  mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
  writeFileSync(path.join(folder, name), text);
}

/** A test that fails by what `broken` does, the first time only when it is flaky. */
const aTest = (title: string, broken: string, isFlaky: boolean): string => `
const { existsSync, writeFileSync } = require('node:fs');
it(${JSON.stringify(title)}, () => {
  const mark = __filename + '.ran';
  const isFirst = !existsSync(mark);
  writeFileSync(mark, '');
  if (isFirst || !${isFlaky}) { ${broken} }
});`;

function runTests(more: object = {}): { readonly status: number | null; readonly lines: string[] } {
  const script = `import { printOutcome, runTests } from ${JSON.stringify(RUNNER)};
    const how = ${JSON.stringify({ directory: folder, ...more })};
    process.exit(printOutcome(await runTests(['unit'], how)) ? 0 : 1);`;
  const { status, stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
  });
  return { status, lines: stdout.trimEnd().split('\n') };
}

it('names a test that fails only once as flaky, with its message, and is green', () => {
  place('test/a.test.js', aTest('is slow at first', "throw new Error('too late')", true));
  place('test/b.test.js', 'it("passes", () => undefined);');
  const { status, lines } = runTests();
  expect(status).toBe(0);
  expect(lines).toContain('flaky: test/a.test.js › is slow at first: Error: too late');
  expect(lines.at(-1)).toBe('2 passed, 0 failed');
});

it('is red for a test that fails twice, and for a file that cannot be run', () => {
  place('test/a.test.js', aTest('is wrong', 'expect(1).toBe(2)', false));
  place('test/b.test.js', 'it("passes", () => undefined);');
  place('test/c.test.js', 'require("./nowhere");');
  const { status, lines } = runTests();
  expect(status).toBe(1);
  expect(lines).toContain('✘ test/a.test.js › is wrong');
  expect(lines).toContain('✘ test/c.test.js');
  expect(lines.at(-1)).toBe('1 passed, 2 failed');
});

it('is red at the first failure of an expectation about money, but not of a time-out there', () => {
  place('test/hostile/bill.test.js', aTest('is billed once', 'expect(2).toBe(1)', true));
  place('test/integration/ledger/slow.test.js', aTest('is slow at first', "throw new Error('too late')", true));
  const { status, lines } = runTests();
  expect(status).toBe(1);
  expect(lines).toContain('✘ test/hostile/bill.test.js › is billed once');
  expect(lines).toContain('flaky: test/integration/ledger/slow.test.js › is slow at first: Error: too late');
  expect(lines.at(-1)).toBe('1 passed, 1 failed');
});

it('is red when no test is found', () => {
  expect(runTests()).toMatchObject({ status: 1 });
});

it('goes on with a journal where another run was stopped, and keeps what was flaky or about money', () => {
  const journal = path.join(folder, 'journal.jsonl');
  place('test/a.test.js', aTest('is slow at first', "throw new Error('too late')", true));
  place('test/hostile/bill.test.js', aTest('is billed once', 'expect(2).toBe(1)', true));
  place('test/b.test.js', 'it("passes", () => undefined);');
  expect(runTests({ journal }).lines.at(-1)).toBe('2 passed, 1 failed');
  const { status, lines } = runTests({ journal });
  expect(status).toBe(1);
  expect(lines.filter((line) => /^. test.[ab]/.test(line))).toEqual([]);
  expect(lines).toContain('flaky: test/a.test.js › is slow at first: Error: too late');
  expect(lines).toContain('✘ test/hostile/bill.test.js › is billed once');
  expect(lines.at(-1)).toBe('2 passed, 1 failed');
});

it('has nothing to do with a journal in which all is green', () => {
  const journal = path.join(folder, 'journal.jsonl');
  place('test/b.test.js', 'it("passes", () => undefined);');
  runTests({ journal });
  const { status, lines } = runTests({ journal });
  expect({ status, last: lines.at(-1) }).toEqual({ status: 0, last: '1 passed, 0 failed' });
});

it('is red when jest is killed in the middle, although what had failed until then passes alone', () => {
  place('test/a.test.js', aTest('is slow at first', "throw new Error('too late')", true));
  place('test/b.test.js', 'process.kill(process.pid, "SIGKILL");');
  // In one process, the larger file first.
  const { status, lines } = runTests({ options: ['--runInBand'] });
  expect(lines).toContain('flaky: test/a.test.js › is slow at first: Error: too late');
  expect({ status, last: lines.at(-1) }).toEqual({ status: 1, last: '1 passed, 1 failed' });
});
