import type { ChildProcess } from 'node:child_process';
import type { ServerResponse } from 'node:http';

import type { JsonValue } from '../../../runtime/util/json';
import { startServer, type TestServer } from '../../support/servers/http-server';
import { containing } from '../../support/setup/matchers';
import { until } from '../../support/values/until';
import { callTool, type CallToolOptions } from '../../support/worlds/call-tool';

const ARTICLE = `<!doctype html><html><head><title>Prices
  and terms</title><style>.x { content: "CANARY-style" }</style>
  <script>document.write('CANARY-script')</script><meta name="description" content="x"></head>
<body><nav><a href="/">Home</a> <a href="/about">About</a></nav>
<article><h1>Prices</h1>
<p>${'A bicycle costs a hundred roubles, and a bell costs ten. '.repeat(20)}</p>
<p>Second<br>line</p><script>'CANARY-inline'</script><noscript>CANARY-noscript</noscript>
<template>CANARY-template</template><ul><li>red</li><li class="blue">blue &amp; green</li></ul>
</article></body></html>`;

let site: TestServer;
let answer: (response: ServerResponse) => void;

beforeAll(async () => {
  site = await startServer((_request, response) => answer(response));
});
beforeEach(() => {
  html(ARTICLE);
});
afterAll(() => site.close());

function body(text: string | Buffer, type: string): void {
  answer = (response) => void response.writeHead(200, { 'content-type': type }).end(text);
}
function html(text: string | Buffer): void {
  body(text, 'text/html');
}

const row = (code: string, allowed: readonly string[] = ['127.0.0.1']) => ({
  code,
  transport: 'builtin',
  endpoint: null,
  customConfig: { allowed_hosts: allowed },
});
const fetchPage = (input: object = {}, options?: CallToolOptions) =>
  callTool(row('web_fetch'), { url: site.url, ...input }, options);
const select = (selector: string, options?: CallToolOptions) =>
  callTool(row('extract'), { url: site.url, selector }, options);

describe('web_fetch', () => {
  it('gives title, address and the text of the article, a line for each block', async () => {
    const { output, value } = await fetchPage({ url: `${site.url}/page#part` });
    expect(output?.isError).toBe(false);
    expect(value).toEqual({
      url: `${site.url}/page`,
      title: 'Prices and terms',
      text: containing('and a bell costs ten.\n\nSecond\nline\n'),
    });
    expect(value.text).toContain('red\n\nblue & green');
    expect(value.text).not.toContain('About');
  });

  it('gives nothing of scripts, styles and templates, wherever they stand', async () => {
    for (const page of [
      ARTICLE,
      ARTICLE.replace('<article>', '<script>CANARY'),
      `<p>Hi<style>CANARY`,
      '<p>Hi<script>CANARY',
    ]) {
      html(page);
      const { output } = await fetchPage();
      expect(output?.isError).toBe(false);
      expect(JSON.stringify(output)).not.toContain('CANARY');
    }
  });

  it('gives nothing of them where no article can be looked for either', async () => {
    html(`${'<div>'.repeat(300)}Hi<script>CANARY</script><style>CANARY</style><noscript>CANARY</noscript>`);
    expect((await fetchPage()).value.text).toBe('Hi');
    html(ARTICLE);
    expect(JSON.stringify((await select('html')).value)).not.toContain('CANARY');
  });

  it.each([
    ['', ''],
    ['just text', 'just text'],
    ['<p>One</p><p>Two</p>', 'One\n\nTwo'],
    ['<html></html>', ''],
  ])('reads %j, which is no article, as %j', async (page, text) => {
    html(page);
    expect((await fetchPage()).value.text).toBe(text);
  });

  it('reads the encoding that the page itself names', async () => {
    html(Buffer.concat([Buffer.from('<meta charset="windows-1251"><p>'), Buffer.from('cfeee8f1ea', 'hex')]));
    expect((await fetchPage()).value.text).toBe('Поиск');
  });

  it.each([
    ['text/plain', 'a < b\n  c'],
    ['application/json', '{"a":"<b>"}'],
    ['application/xml', '<a>1</a>'],
  ])('gives %s as it is', async (type, text) => {
    body(text, type);
    expect((await fetchPage()).value).toEqual({ url: `${site.url}/`, text });
  });

  it.each(['image/png', 'application/pdf', 'application/octet-stream'])('refuses %s', async (type) => {
    body('x', type);
    expect((await fetchPage()).output).toMatchObject({ code: 'TOOL_FAILED', value: { message: containing(type) } });
  });

  it('cuts the text at max_chars, and marks that', async () => {
    const { value } = await fetchPage({ max_chars: 10 });
    expect(value).toMatchObject({ text: 'Prices\n\nA \n[… cut]', truncated: true });
  });

  it('fits into what a model is given', async () => {
    html(`<p>${'"ü" '.repeat(100_000)}</p>`);
    const { value } = await fetchPage({ max_chars: 1_000_000 }, { maxOutputBytes: 3000 });
    expect(Buffer.byteLength(JSON.stringify(value))).toBeLessThanOrEqual(3000);
    expect(value).toMatchObject({ truncated: true, text: containing('[… cut]') });
  });

  it('tells of a page that is not there', async () => {
    answer = (response) => void response.writeHead(404).end('gone');
    expect((await fetchPage()).output).toMatchObject({
      code: 'TOOL_HTTP_ERROR',
      value: { message: containing('gone') },
    });
  });

  it('asks no private address that the operator does not allow', async () => {
    const { output } = await callTool(row('web_fetch', []), { url: site.url });
    expect(output?.code).toBe('TOOL_PERMISSION_DENIED');
  });
});

describe('a page that is made to do harm', () => {
  it.each([
    ['5 MB of paragraphs', '<p>text, text, text</p>'.repeat(250_000)],
    ['100 000 elements in one another', '<div>a, '.repeat(100_000)],
    ['a million brackets', '<'.repeat(1_000_000)],
    ['a tag with 400 000 attributes', `<p ${'a b '.repeat(250_000)}>x`],
  ])('is cut or given up: %s', async (_kind, page) => {
    html(page);
    const { output } = await fetchPage();
    expect(JSON.stringify(output)).toMatch(/truncated|takes too much time or memory|"text":"x"/);
  });

  it('is looked through by a selector, or given up', async () => {
    html('<div>'.repeat(3000));
    const { output } = await select('div:has(div:has(div:has(div:has(p))))');
    expect(JSON.stringify(output)).toMatch(/takes too much time or memory|call stack|"matches":\[\]/);
  });

  it('is let go when the run is cancelled', async () => {
    html('<div>a, '.repeat(100_000));
    const fork = jest.spyOn(jest.requireActual<typeof import('node:child_process')>('node:child_process'), 'fork');
    const controller = new AbortController();
    const fetching = fetchPage({}, { signal: controller.signal });
    await until(() => fork.mock.calls.length > 0);
    controller.abort();
    expect((await fetching).output?.code).toBe('TOOL_CANCELLED');
    // Ended by us, not by the end of its time.
    expect(fork.mock.results.map(({ value }) => (value as ChildProcess).killed)).toEqual([true]);
    fork.mockRestore();
  });
});

describe('extract', () => {
  it('gives the texts that a selector finds', async () => {
    expect((await select('li')).value).toEqual({ url: `${site.url}/`, matches: ['red', 'blue & green'] });
    expect((await select('article > ul li.blue')).value.matches).toEqual(['blue & green']);
    expect((await select('h2')).value.matches).toEqual([]);
  });

  it('gives no more than fifty, and no more than fits', async () => {
    html('<li>item</li>'.repeat(60));
    const { value } = await select('li');
    expect(value).toMatchObject({ truncated: true });
    expect(value.matches).toHaveLength(50);
    const { value: small } = await select('li', { maxOutputBytes: 256 });
    expect(JSON.stringify(small).length).toBeLessThanOrEqual(256);
  });

  it.each(['li[', 'li:nothing(x)', '>>>'])('says what is wrong with the selector %s', async (selector) => {
    expect((await select(selector)).output).toMatchObject({
      code: 'TOOL_INVALID_ARGS',
      value: { message: containing('selector is not valid') },
    });
  });

  const keep = (variable: JsonValue, variables: Map<string, JsonValue>, selector = 'li') =>
    callTool(row('extract'), { url: site.url, selector, store_as: variable }, { variables });

  it('keeps the text in a variable', async () => {
    const variables = new Map<string, JsonValue>([['price', 'of the page before']]);
    expect((await keep('colours', variables)).value).toEqual({ url: `${site.url}/`, matches: ['red', 'blue & green'] });
    await keep('price', variables, 'h2');
    await keep('', variables);
    expect([...variables]).toEqual([
      ['price', ''],
      ['colours', 'red\nblue & green'],
    ]);
    const asked = site.requests.length;
    expect((await keep('a b', variables)).output).toMatchObject({
      code: 'TOOL_INVALID_ARGS',
      value: { message: containing('store_as: "a b" is not a name') },
    });
    expect(site.requests).toHaveLength(asked);
  });

  it('keeps no text that does not fit, nor a part of one, and leaves nothing in its place', async () => {
    const full = new Map<string, JsonValue>([
      ['a', 'x'.repeat(65_505)],
      ['b', 1],
    ]);
    const { value, output } = await keep('b', full);
    expect(value).toMatchObject({
      warning: { code: 'VARIABLE_NOT_STORED' },
      result: { matches: ['red', 'blue & green'] },
    });
    expect(output?.warnings).toMatchObject([
      { code: 'VARIABLE_NOT_STORED', message: containing('there is no variable "b"') },
    ]);
    expect([...full.keys()]).toEqual(['a']);
    html('<li>item</li>'.repeat(60));
    const variables = new Map<string, JsonValue>();
    expect((await keep('all', variables)).value).toMatchObject({ warning: { message: containing('it was cut off') } });
    expect(variables.size).toBe(0);
  });

  it('reads HTML only', async () => {
    body('{}', 'application/json');
    expect((await select('li')).value.message).toContain('no HTML page');
  });
});
