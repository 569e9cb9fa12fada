import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { ERROR_CODES, type ErrorCode } from '../../../runtime/errors/codes';

const ROOT = resolve(__dirname, '../../..');
const sources = ['runtime', 'nodes']
  .flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(ROOT, folder, file)),
  )
  .filter((file) => file.endsWith('.ts') && !/errors.codes([.]ts$|.)/.test(file))
  .map((file) => readFileSync(file, 'utf8'))
  .join('\n');
const codes = Object.keys(ERROR_CODES) as ErrorCode[];

it.each(codes)('%s is used', (code) => {
  expect(sources).toContain(`'${code}'`);
});

it.each(codes)('%s says what happened and what to do, in sentences', (code) => {
  const { message, hint } = ERROR_CODES[code];
  expect(message).toMatch(/^[A-Z{].+[.}]$/s);
  expect(hint).toMatch(/^[A-Z].+\.$/s);
});

it('every code that is thrown is in the table', () => {
  const thrown = [...sources.matchAll(/(?:RuntimeError|toolFailure|describeError)\(\s*'([A-Z_]+)'/g)].map(
    (match) => match[1],
  );
  expect(thrown.length).toBeGreaterThan(20);
  expect(thrown.filter((code) => !codes.includes(code as ErrorCode))).toEqual([]);
});

it('what nobody can mend by waiting is not retryable', () => {
  const retryable = codes.filter((code) => ERROR_CODES[code].retryable);
  expect(retryable).toEqual(
    expect.arrayContaining(['LLM_RATE_LIMITED', 'LLM_TIMEOUT', 'DB_UNREACHABLE', 'TASK_RUNNING']),
  );
  for (const code of [
    'LLM_AUTH_FAILED',
    'INPUT_INVALID',
    'TENANT_NOT_FOUND',
    'TASK_CONFLICT',
    'RUN_CANCELLED',
  ] as const) {
    expect(retryable).not.toContain(code);
  }
});

it('what only warns is never thrown, and what the model is told has a name of a tool or a skill', () => {
  const isThrown = (code: string) => sources.includes(`new RuntimeError('${code}'`);
  const kinds = Object.groupBy(codes, (code) => ERROR_CODES[code].kind ?? 'error');
  // What fails with one server is an error of the command that asked it, and a warning of a run, which goes on without it.
  expect(kinds.warning?.filter(isThrown).filter((code) => !code.startsWith('MCP_'))).toEqual([]);
  expect(kinds.tool?.filter((code) => !/^(TOOL|SKILL)_/.test(code))).toEqual([]);
});

it('a fault in the setting up of a node is told in the words of the table', () => {
  expect(sources).toContain(`hint: '${ERROR_CODES.NODE_SETUP.hint}'`);
});
