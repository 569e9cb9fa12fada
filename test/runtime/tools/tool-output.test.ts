import type { TransportReply } from '../../../runtime/contracts/tools/tool-transport';
import { readOutput } from '../../../runtime/tools/tool-output';
import { createRedactor } from '../../../runtime/util/redaction/redact';
import { containing } from '../../support/setup/matchers';

const SECRET = 'Basic dXNlci9h+CANARY/secret==';
const TOKEN = 'dXNlci9h+CANARY/secret==';
const redact = createRedactor([SECRET, '12345678']);
const read = (text: string, rest: Partial<TransportReply> = {}) =>
  readOutput({ text, isCut: false, ...rest }, { tool: 'add', redact, limitBytes: 1000 });

it.each([
  ['{"rows":5}', { rows: 5 }],
  ['[1,2]', [1, 2]],
  ['"text"', 'text'],
  ['0', 0],
  ['false', false],
  ['', null],
  [' \n', null],
])('gives %j as JSON', (text, value) => expect(read(text)).toEqual({ isError: false, value }));

it('gives text that is no JSON as it came, and says so', () => {
  expect(read('<html>Hi</html>')).toMatchObject({
    isError: false,
    code: 'TOOL_OUTPUT_NOT_JSON',
    value: { text: '<html>Hi</html>', warning: { code: 'TOOL_OUTPUT_NOT_JSON' } },
  });
});

it('gives JSON that is nested too deeply as text', () => {
  expect(read('['.repeat(5000) + ']'.repeat(5000))).toMatchObject({ isError: false, code: 'TOOL_OUTPUT_NOT_JSON' });
});

it('does not mark plain text where plain text is a proper answer', () => {
  expect(read('3 days', { isPlainText: true })).toEqual({ isError: false, value: '3 days' });
});

it('marks what was cut', () => {
  expect(read('[1,2,3', { isCut: true })).toMatchObject({
    isError: false,
    code: 'TOOL_OUTPUT_TRUNCATED',
    value: { text: '[1,2,3', warning: { message: containing('1000 bytes') } },
  });
});

describe('a failure', () => {
  it('is told with status and body', () => {
    const failure = { code: 'TOOL_HTTP_ERROR', status: 422 } as const;
    expect(read('{"detail":"no such order"}', { failure })).toMatchObject({
      isError: true,
      code: 'TOOL_HTTP_ERROR',
      value: { message: 'Tool "add" answered HTTP 422: {"detail":"no such order"}' },
    });
  });

  it('is cut when it is long', () => {
    const failure = { code: 'TOOL_HTTP_ERROR', status: 500 } as const;
    expect(JSON.stringify(read('x'.repeat(100_000), { failure })).length).toBeLessThan(3000);
  });

  it.each([
    ['{"success":false,"error":"no funds"}', 'no funds'],
    ['{"success":false,"error":{"code":7}}', '{"code":7}'],
    ['{"success":false,"detail":"none"}', '"detail":"none"'],
    ['{"success":false,"error":""}', 'success'],
  ])('may come with HTTP 200: %s', (text, reason) => {
    expect(read(text)).toMatchObject({
      isError: true,
      code: 'TOOL_FAILED',
      value: { message: containing(reason) },
    });
  });

  it.each([['{"success":true}'], ['{"success":"false"}'], ['[{"success":false}]'], ['{"success":0}']])(
    'is not %s',
    (text) => {
      expect(read(text).isError).toBe(false);
    },
  );
});

describe('a secret that the server sends back', () => {
  const escapedSlash = JSON.stringify({ header: SECRET }).replaceAll('/', '\\/');
  const escapedAll = `{"header":"${Array.from(SECRET, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"}`;

  it.each([
    ['as it is', JSON.stringify({ header: SECRET })],
    ['without its scheme', JSON.stringify({ token: TOKEN })],
    ['with escaped slashes', escapedSlash],
    ['in escapes only', escapedAll],
    ['as a key', JSON.stringify({ [TOKEN]: 1 })],
    ['deep inside', JSON.stringify({ a: [{ b: `x${TOKEN}y` }] })],
    ['in text', `Header was ${SECRET}`],
    ['as a URL writes it', `?token=${encodeURIComponent(TOKEN)}`],
  ])('%s is blanked', (_what, text) => {
    const shown = JSON.stringify(read(text));
    expect(shown).toContain('[redacted]');
    expect(shown.replaceAll('\\', '')).not.toMatch(/CANARY/);
  });

  it('as a number is blanked without breaking the JSON around it', () => {
    expect(read('{"account":12345678,"rows":5}')).toEqual({
      isError: false,
      value: { account: '[redacted]', rows: 5 },
    });
  });

  it('in a failure is blanked, also with escaped slashes', () => {
    const failure = { code: 'TOOL_HTTP_ERROR', status: 401 } as const;
    expect(JSON.stringify(read(escapedSlash, { failure }))).not.toContain('CANARY');
    expect(JSON.stringify(read(`{"success":false,"error":"bad ${TOKEN}"}`))).not.toContain('CANARY');
  });
});
