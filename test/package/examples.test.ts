import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

import { ERROR_CODES } from '../../runtime/errors/codes';

const EXAMPLES = path.resolve(__dirname, '../../examples/workflows');

interface Example {
  readonly nodes: readonly {
    readonly name: string;
    readonly type: string;
    readonly parameters: Readonly<Record<string, unknown>>;
    readonly credentials?: object;
  }[];
  readonly pinData: object;
}

const read = (file: string): Example => JSON.parse(readFileSync(path.join(EXAMPLES, file), 'utf8')) as Example;

it.each(readdirSync(EXAMPLES))('%s says what to set and what it costs, and names no credential', (file) => {
  const { nodes, pinData } = read(file);
  const note = nodes.find(({ type }) => type === 'n8n-nodes-base.stickyNote');
  expect(note?.parameters.content).toMatch(/\*\*Set:\*\*\n1\. [^]*\n\n\*\*What it costs:\*\* /);
  expect(nodes.filter(({ credentials }) => credentials !== undefined)).toEqual([]);
  expect(pinData).toEqual({});
});

it('README leads to every example', () => {
  const readme = readFileSync(path.resolve(EXAMPLES, '../../README.md'), 'utf8');
  expect(readdirSync(EXAMPLES).filter((file) => !readme.includes(`(examples/workflows/${file})`))).toEqual([]);
});

it('error-branch.json tries again for codes of the error table that may pass, all of the model, the database and Redis among them', () => {
  const branch = read('error-branch.json').nodes.find(({ name }) => name === 'May Pass by Itself');
  const codes = JSON.stringify(branch?.parameters).match(/\b[A-Z]+_[A-Z_]+\b/g) ?? [];
  const retryable = Object.entries(ERROR_CODES).flatMap(([code, row]) => (row.retryable ? [code] : []));
  expect(codes.filter((code) => !retryable.includes(code))).toEqual([]);
  const always = retryable.filter((code) => /^(LLM|DB|REDIS)_/.test(code));
  expect(codes).toEqual(expect.arrayContaining(always));
});
