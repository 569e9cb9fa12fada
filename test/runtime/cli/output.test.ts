import { stripVTControlCharacters } from 'node:util';

import { chooseFormat, printError, printJson } from '../../../runtime/cli/output';

const error = { code: 'TENANT_NOT_FOUND', message: 'There is no tenant.', hint: 'Add one.' } as const;
const rows = [{ id: 1, name: 'one' }];
const JSON_TEXT = `[\n  {\n    "id": 1,\n    "name": "one"\n  }\n]\n`;
const TABLE_TEXT = 'id  name\n 1  one\n';

let written: string;

function on({ isTerminal }: { readonly isTerminal: boolean }): void {
  for (const stream of [process.stdout, process.stderr]) {
    Object.defineProperty(stream, 'isTTY', { value: isTerminal, configurable: true });
  }
}

beforeEach(() => {
  written = '';
  for (const stream of [process.stdout, process.stderr]) {
    jest.spyOn(stream, 'write').mockImplementation((text) => {
      written += stripVTControlCharacters(String(text));
      return true;
    });
  }
  chooseFormat({ json: false, table: false });
});
const before = { stdout: process.stdout.isTTY, stderr: process.stderr.isTTY };
afterEach(() => {
  jest.restoreAllMocks();
  Object.defineProperty(process.stdout, 'isTTY', { value: before.stdout, configurable: true });
  Object.defineProperty(process.stderr, 'isTTY', { value: before.stderr, configurable: true });
});

it.each([
  { where: 'in a pipe', isTerminal: false, text: JSON_TEXT },
  { where: 'on a terminal', isTerminal: true, text: TABLE_TEXT },
  { where: 'on a terminal with --json', isTerminal: true, chosen: { json: true }, text: JSON_TEXT },
  { where: 'in a pipe with --table', isTerminal: false, chosen: { table: true }, text: TABLE_TEXT },
])('prints rows $where', ({ isTerminal, chosen, text }) => {
  on({ isTerminal });
  chooseFormat({ json: false, table: false, ...chosen });
  printJson(rows);
  expect(written).toBe(text);
});

it('prints an error as one JSON line in a pipe, and as a sentence on a terminal', () => {
  on({ isTerminal: false });
  printError(error);
  expect(written).toBe(`${JSON.stringify(error)}\n`);
  written = '';
  on({ isTerminal: true });
  printError(error);
  expect(written).toBe('TENANT_NOT_FOUND  There is no tenant.\nAdd one.\n');
});

it('shows no control character that a terminal would obey, in JSON either', () => {
  on({ isTerminal: true });
  chooseFormat({ json: true, table: false });
  printJson({ answer: 'a\u009b31mb\u202ec\u200fd\ne' });
  expect(written).toContain('a\\u009b31mb\\u202ec\\u200fd\\ne');
  expect(JSON.parse(written)).toEqual({ answer: 'a\u009b31mb\u202ec\u200fd\ne' });
});
