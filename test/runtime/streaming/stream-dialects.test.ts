import { call, calls, data, delta, DONE, USAGE } from '../../support/values/stream-chunks';
import { type Answer, type DialectWorld, openDialectWorld, sends } from '../../support/worlds/dialect-world';

let world: DialectWorld;
beforeAll(async () => {
  world = await openDialectWorld();
});
afterAll(() => world.close());

const END = delta({}, 'tool_calls') + USAGE + DONE;

const ROME = '{"city":"Rome"}';
const OSLO = '{"city":"Oslo"}';
const [HALF, REST] = ['{"city":', '"Rome"}'];

describe('pieces of two calls', () => {
  it.each<[string, string]>([
    ['with one index and ids of their own', calls(call('a', 'weather', ROME, 0), call('b', 'forecast', OSLO, 0))],
    [
      'with one index, in pieces that repeat the id',
      calls(
        call('a', 'weather', HALF, 0),
        call('a', undefined, REST, 0),
        call('b', 'forecast', '{"city":', 0),
        call('b', undefined, '"Oslo"}', 0),
      ),
    ],
    ['with one index and no id', calls(call('', 'weather', ROME, 0), call('', 'forecast', OSLO, 0))],
    ['without index and id', calls(call('', 'weather', ROME), call('', 'forecast', OSLO))],
    [
      'without index, id and type',
      calls({ function: { name: 'weather', arguments: ROME } }, { function: { name: 'forecast', arguments: OSLO } }),
    ],
    [
      'with an index as text',
      calls(
        call('a', 'weather', '', '0'),
        call('b', 'forecast', '', '1'),
        call(undefined, undefined, ROME, '0'),
        call(undefined, undefined, OSLO, '1'),
      ),
    ],
    [
      'that come in turn',
      calls(
        call('a', 'weather', '', 0),
        call('b', 'forecast', '', 1),
        call(undefined, undefined, HALF, 0),
        call(undefined, undefined, OSLO, 1),
        call(undefined, undefined, REST, 0),
      ),
    ],
    [
      'of which all but the heads have the index 0',
      calls(
        call('a', 'weather', '', 0),
        call('b', 'forecast', '', 1),
        call(undefined, undefined, ROME, 0),
        call(undefined, undefined, OSLO, 0),
      ),
    ],
    [
      'with another id in each',
      calls(
        call('r1', 'weather', '', 0),
        call('r2', undefined, HALF, 0),
        call('r3', undefined, REST, 0),
        call('r4', 'forecast', '', 1),
        call('r5', undefined, OSLO, 1),
        call('r6', undefined, '', 1),
      ),
    ],
    [
      'with the id "null" behind the head',
      calls(
        call('a', 'weather', HALF, 0),
        call('null', '', REST, 0),
        call('b', 'forecast', '{"city":', 1),
        call('null', '', '"Oslo"}', 1),
      ),
    ],
    [
      'with an index that counts the pieces',
      calls(call('a', 'weather', HALF, 0), call('a', 'weather', REST, 1), call('b', 'forecast', OSLO, 2)),
    ],
    [
      'that repeat name and id',
      calls(
        call('a', 'weather', HALF, 0),
        call('a', 'weather', REST, 0),
        call('a', 'weather', '', 0),
        call('b', 'forecast', OSLO, 1),
      ),
    ],
    [
      'with arguments as objects',
      calls(call('a', 'weather', { city: 'Rome' }, 0), call('b', 'forecast', { city: 'Oslo' }, 0)),
    ],
    [
      'behind an empty object in place of arguments',
      calls(
        call('a', 'weather', '{}', 0),
        call(undefined, undefined, ROME, 0),
        call('b', 'forecast', '{}', 1),
        call(undefined, undefined, OSLO, 1),
      ),
    ],
    [
      'with an empty name first',
      calls(
        call('a', '', '', 0),
        call(undefined, 'weather', ROME, 0),
        call('b', '', '', 1),
        call(undefined, 'forecast', OSLO, 1),
      ),
    ],
    [
      'and both of them once more at the end',
      calls(call('a', 'weather', ROME, 0), call('b', 'forecast', OSLO, 1), call('a', 'weather', ROME, 0)) +
        calls(call('b', 'forecast', OSLO, 1)),
    ],
    ['in one chunk', delta({ tool_calls: [call('a', 'weather', ROME, 0), call('b', 'forecast', OSLO, 0)] })],
  ])('%s are two calls', async (_what, pieces) => {
    expect(await world.outcomeOf(sends(pieces + END))).toEqual({
      text: 'Done',
      shown: 'Done',
      called: [`weather ${ROME}`, `forecast ${OSLO}`],
      tokens: 120,
      requests: 2,
    });
  });

  it.each<[string, string, readonly string[]]>([
    ['of one tool', calls(call('a', 'weather', ROME, 0), call('b', 'weather', OSLO, 0)), [ROME, OSLO]],
    ['of one tool without ids', calls(call('', 'weather', ROME), call('', 'weather', OSLO)), [ROME, OSLO]],
    ['of one tool under one id', calls(call('x', 'weather', ROME, 0), call('x', 'weather', OSLO, 1)), [ROME, OSLO]],
    ['that need no arguments', calls(call('a', 'weather', '', 0), call('b', 'weather', '', 0)), ['{}', '{}']],
    [
      'whose pieces are JSON by themselves',
      calls(
        call('a', 'weather', '{"a":', 0),
        call(undefined, undefined, '1', 0),
        call(undefined, undefined, ',"b":', 0),
      ) + calls(call(undefined, undefined, '{}', 0), call(undefined, undefined, '}', 0)),
      ['{"a":1,"b":{}}'],
    ],
  ])('%s keep their arguments', async (_what, pieces, args) => {
    const { called: made } = await world.outcomeOf(sends(pieces + END));
    expect(made).toEqual(args.map((text) => `weather ${text}`));
  });

  it('never run with arguments that belong to another one', async () => {
    const pieces = calls(call('a', 'weather', ROME, 0), call(undefined, undefined, OSLO, 0));
    expect(await world.outcomeOf(sends(pieces + END))).toMatchObject({ text: 'Done', called: [] });
  });
});

describe('an answer', () => {
  const TEXT = delta({ content: 'Hello ' }) + delta({ content: 'there' }, 'stop') + USAGE;
  const message = (more: object): string =>
    data({
      choices: [{ message: { role: 'assistant', content: 'Hello there' }, finish_reason: 'stop', ...more }],
      usage: { prompt_tokens: 100, completion_tokens: 20 },
    });

  it.each<[string, Answer]>([
    ['as JSON', sends(TEXT + DONE, 'application/json')],
    ['as no type', sends(TEXT + DONE, '')],
    ['as text', sends(TEXT + DONE, 'text/plain')],
    ['behind a byte order mark, a comment and blank lines', sends(`\ufeff\n: hello\n\n${TEXT}${DONE}`)],
    ['without blanks behind the colons', sends((TEXT + DONE).replaceAll('data: ', 'data:'))],
    ['with lines that end otherwise', sends((TEXT + DONE).replaceAll('\n', '\r\n'))],
    ['with lines that end in CR alone', sends((TEXT + DONE).replaceAll('\n', '\r'))],
    ['without an empty line at its end', sends(TEXT.trimEnd())],
    ['among signs of life', sends(`${data({ type: 'ping', message: 'still here' })}${TEXT}${DONE}`)],
    ['without an end of the last line', sends(`${TEXT}${DONE}`.trimEnd())],
    ['under `message`', sends(message({ index: 0 }) + DONE)],
    ['under `message`, with an empty delta', sends(message({ index: 0, delta: {} }) + DONE)],
    [
      'under `message`, piece by piece',
      sends(
        data({ choices: [{ index: 0, message: { content: 'Hello ' } }] }) +
          data({ choices: [{ index: 0, message: { content: 'there' }, finish_reason: 'stop' }] }) +
          USAGE,
      ),
    ],
    ['once more at its end', sends(delta({ content: 'Hello ' }) + delta({ content: 'there' }) + message({ index: 0 }))],
    ['with the index null', sends(TEXT.replaceAll('"index":0', '"index":null') + DONE)],
    ['with the index 1', sends(TEXT.replaceAll('"index":0', '"index":1') + DONE)],
    ['without an index', sends(TEXT.replaceAll('"index":0,', '') + DONE)],
    [
      'in parts, then as text',
      sends(delta({ content: [{ type: 'text', text: 'Hello ' }] }) + delta({ content: 'there' }, 'stop') + USAGE),
    ],
    [
      'as text, then in parts',
      sends(delta({ content: 'Hello ' }) + delta({ content: [{ type: 'text', text: 'there' }] }, 'stop') + USAGE),
    ],
    [
      'in one chunk with its usage',
      sends(
        data({
          choices: [{ index: 0, delta: { content: 'Hello there' }, finish_reason: 'stop' }],
          usage: { prompt_tokens: 100, completion_tokens: 20 },
        }),
      ),
    ],
    ['unstreamed, as a stream', sends(message({ index: 0 }).slice(6).trim())],
    ['unstreamed', sends(message({ index: 0 }).slice(6).trim(), 'application/json')],
  ])('that comes %s is the answer', async (_what, answer) => {
    const expected = { text: 'Hello there', called: [], tokens: 120, requests: 1 };
    expect(await world.outcomeOf(answer)).toEqual({
      ...expected,
      shown: expect.stringMatching(/^(Hello there)?$/) as string,
    });
  });

  it('that is a stream, where none was asked for, is the answer', async () => {
    expect(await world.outcomeOf(sends(TEXT + DONE), { stream: false })).toEqual({
      text: 'Hello there',
      shown: '',
      called: [],
      tokens: 120,
      requests: 1,
    });
  });

  it.each([
    ['its usage', TEXT, ': still here\n\n'],
    ['its finish reason, and signs of life', delta({ content: 'Hello there' }, 'stop'), ': still here\n\n'],
  ])('does not wait for a connection that stays open behind %s', async (_what, text, more) => {
    let closed: Promise<unknown> | undefined;
    const outcome = await world.outcomeOf((response) => {
      closed = new Promise((resolve) => response.once('close', resolve));
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(text);
      const timer = setInterval(() => response.write(more), 100);
      response.once('close', () => clearInterval(timer));
    });
    expect(outcome).toMatchObject({ text: 'Hello there', requests: 1 });
    await closed;
  });

  it('of 20,000 parts of text is no answer of too many parts', async () => {
    const parts = Array.from({ length: 20_000 }, () => delta({ content: [{ type: 'text', text: 'a' }] }));
    const { text } = await world.outcomeOf(sends(parts.join('') + delta({}, 'stop') + USAGE));
    expect(text).toBe('a'.repeat(20_000));
  });
});

describe('an error in a stream', () => {
  it.each<[string, Answer, string, RegExp]>([
    [
      'in the form of vLLM',
      sends(data({ object: 'error', message: 'maximum context length is 4096', type: 'BadRequestError', code: 400 })),
      'LLM_BAD_REQUEST',
      /maximum context length is 4096/,
    ],
    [
      'in the form of OpenAI',
      sends(
        data({ error: { message: 'The image is too large', type: 'invalid_request_error', param: null, code: null } }),
      ),
      'LLM_BAD_REQUEST',
      /The image is too large/,
    ],
    [
      'as an event of its own',
      sends(`event: error\n${data({ message: 'wrong model input', type: 'validation_error' })}`),
      'LLM_BAD_REQUEST',
      /wrong model input/,
    ],
    [
      'of a key',
      sends(data({ error: { message: 'Incorrect API key', type: 'authentication_error' } })),
      'LLM_AUTH_FAILED',
      /./,
    ],
    [
      'as Google words it',
      sends(data({ error: { code: 400, message: 'Invalid JSON payload', status: 'INVALID_ARGUMENT' } })),
      'LLM_BAD_REQUEST',
      /Invalid JSON payload/,
    ],
    [
      'with a status that calls itself a stream',
      sends('{"error":{"message":"No key"}}', undefined, 401),
      'LLM_AUTH_FAILED',
      /./,
    ],
    ['with a status, as text', sends('Insufficient balance', undefined, 402), 'LLM_INSUFFICIENT_CREDITS', /./],
    [
      'with a status, in an event',
      sends(data({ error: { message: 'tools are not valid here' } }), undefined, 400),
      'LLM_BAD_REQUEST',
      /tools are not valid here/,
    ],
  ])('%s is told with its reason, and asked for once', async (...[, answer, code, message]) => {
    const outcome = await world.outcomeOf(answer);
    expect(outcome).toMatchObject({ code, message: expect.stringMatching(message) as string, requests: 1 });
  });

  it('tells the words of a proxy that stand in place of a chunk', async () => {
    const answer = sends('data: upstream connect error or disconnect\n\n');
    const { code, message } = await world.outcomeOf([answer, answer, answer]);
    expect(code).toBe('LLM_UNAVAILABLE');
    expect(message).toContain('upstream connect error');
  });
});
