import '../../../support/setup/errors-of-node';

import type { ModelReply } from '../../../../runtime/contracts/model';
import { type ClosableModel, createOpenAiModel } from '../../../../runtime/models/openai/openai-model';
import { startServer } from '../../../support/servers/http-server';
import { type ModelServer, startModelServer, textReply } from '../../../support/servers/model-server';
import { containing } from '../../../support/setup/matchers';
import { failureOf } from '../../../support/values/agent-fixture';
import { aModelRequest } from '../../../support/values/model-request';
import {} from '../../../support/values/until';

const KEY = 'sk-canary-key-1234567890';
const open: (() => Promise<void>)[] = [];
let server: ModelServer;

beforeAll(async () => {
  server = await startModelServer();
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((close) => close()));
});
afterAll(() => server.close());

function aModel(baseUrl = server.url, maxRetries = 0, apiKey = KEY): ClosableModel {
  const model = createOpenAiModel({ apiKey, baseUrl, maxRetries });
  open.push(model.close);
  return model;
}

const generate = (maxRetries = 0, request = aModelRequest()): Promise<ModelReply> =>
  aModel(server.url, maxRetries).generate(request);
const failure = (status: number, message: string, headers: Record<string, string> = {}) => ({
  status,
  headers,
  body: { error: { message, code: status } },
});
const soon = { 'retry-after': '0' };

it('sends the key as a bearer token to the base URL, and says nothing of organisations', async () => {
  server.script(textReply('Hello'));
  await generate();
  const sent = server.requests.at(-1);
  expect(sent).toMatchObject({ path: '/v1/chat/completions', headers: { authorization: `Bearer ${KEY}` } });
  expect(sent?.headers).not.toHaveProperty('openai-organization');
});

it('needs no key for a server that needs none', async () => {
  server.script(textReply('Hello'));
  expect((await aModel(server.url, 0, '').generate(aModelRequest())).message.content).toBe('Hello');
});

describe('an answer that is an error', () => {
  it.each([
    [401, 'Incorrect key', 'LLM_AUTH_FAILED'],
    [403, 'Forbidden', 'LLM_AUTH_FAILED'],
    [402, 'Insufficient credits', 'LLM_INSUFFICIENT_CREDITS'],
    [404, 'No model', 'LLM_MODEL_NOT_FOUND'],
    [400, 'x/y is not a valid model ID', 'LLM_MODEL_NOT_FOUND'],
    [404, 'No endpoints found that support tool use', 'LLM_NO_TOOL_SUPPORT'],
    [400, 'Bad schema', 'LLM_BAD_REQUEST'],
    [422, 'Unprocessable', 'LLM_BAD_REQUEST'],
    [429, 'Slow down', 'LLM_RATE_LIMITED'],
    [408, 'Timed out', 'LLM_UNAVAILABLE'],
    [500, 'Oops', 'LLM_UNAVAILABLE'],
    [503, 'Down', 'LLM_UNAVAILABLE'],
  ])('HTTP %i "%s" is %s', async (status, message, code) => {
    server.script(failure(status, message));
    expect(await failureOf(generate())).toMatchObject({ code });
  });

  it('never shows the key, however the provider quotes it', async () => {
    server.script(failure(401, `Incorrect API key provided: ${KEY}`));
    const error = await failureOf(generate());
    expect(JSON.stringify([error, error.message, error.stack, error.details])).not.toContain(KEY);
    server.script(failure(400, `Header was "Bearer ${KEY}", url ?key=${encodeURIComponent(KEY)}`));
    expect((await failureOf(generate())).message).toContain('[redacted]');
  });

  it('is cut when it is long', async () => {
    server.script(failure(400, 'x'.repeat(100_000)));
    expect((await failureOf(generate())).message.length).toBeLessThan(1000);
  });
});

describe('a redirect', () => {
  it('is not followed, so that the key goes nowhere else', async () => {
    const other = await startModelServer();
    open.push(other.close);
    server.script({ status: 307, headers: { location: `${other.url}/chat/completions` }, body: {} });
    expect(await failureOf(generate())).toMatchObject({ code: 'LLM_BAD_REQUEST', details: { status: 307 } });
    expect(other.requests).toHaveLength(0);
  });
});

describe('a retry', () => {
  it.each([[429], [500], [502], [503], [408], [409]])('follows HTTP %i', async (status) => {
    const request = aModelRequest();
    server.script(failure(status, 'Later', soon), textReply('Hello'));
    expect((await generate(2, request)).message.content).toBe('Hello');
    expect(request.attempts).toEqual({ sent: 2, answered: 2 });
  });

  it('follows an error that comes with HTTP 200', async () => {
    server.script({ headers: soon, body: { error: { message: 'Slow down', code: 429 } } }, textReply('Hello'));
    expect((await generate(1)).message.content).toBe('Hello');
  });

  it.each([[400], [401], [402], [404]])('does not follow HTTP %i', async (status) => {
    const request = aModelRequest();
    server.script(failure(status, 'No', soon));
    await failureOf(generate(2, request));
    expect(request.attempts.sent).toBe(1);
  });
});

describe('a connection', () => {
  it('that is refused is LLM_UNAVAILABLE, and nothing counts as sent without an answer', async () => {
    const gone = await startServer(() => undefined);
    await gone.close();
    const request = aModelRequest();
    const error = await failureOf(aModel(`${gone.url}/v1`).generate(request));
    expect(error).toMatchObject({ code: 'LLM_UNAVAILABLE', message: containing('ECONNREFUSED') });
    expect(request.attempts).toEqual({ sent: 1, answered: 1 });
  });

  it('that breaks before the answer leaves a request whose usage is unknown', async () => {
    const request = aModelRequest();
    server.script((_request, response) => void response.destroy());
    expect(await failureOf(generate(0, request))).toMatchObject({ code: 'LLM_UNAVAILABLE' });
    expect(request.attempts).toEqual({ sent: 1, answered: 0 });
  });

  it('that breaks inside the answer does so too', async () => {
    const request = aModelRequest();
    server.script((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
      response.write('{"choices":[', () => response.destroy());
    });
    expect(await failureOf(generate(0, request))).toMatchObject({ code: 'LLM_UNAVAILABLE' });
    expect(request.attempts).toEqual({ sent: 1, answered: 0 });
  });

  it.each<[number, { status: number; text: string; encoding?: string }]>([
    [0, { status: 502, text: '{"error":{"message":"Ups' }],
    [0, { status: 500, text: ' {"error":{"message":"No"},"usage":{"prompt_tok' }],
    [0, { status: 429, text: 'data: {"usage":{"prompt_tokens":10' }],
    [0, { status: 503, text: 'not compressed', encoding: 'gzip' }],
    [1, { status: 502, text: '{"error":{"message":"Upstream"}}' }],
    [1, { status: 502, text: '<html><title>Bad Gateway</title>' }],
    [1, { status: 500, text: '' }],
  ])('that counts for %i: what is missing in %j may have been usage', async (answered, failed) => {
    const request = aModelRequest();
    server.script((_request, response) => {
      response.writeHead(failed.status, { 'content-encoding': failed.encoding ?? 'identity' });
      response.end(failed.text);
    });
    await failureOf(generate(0, request));
    expect(request.attempts).toEqual({ sent: 1, answered });
  });

  it('that hangs before the answer is LLM_TIMEOUT', async () => {
    const request = aModelRequest({ silenceMs: 50 });
    server.script(() => undefined);
    expect(await failureOf(generate(0, request))).toMatchObject({ code: 'LLM_TIMEOUT' });
    expect(request.attempts).toEqual({ sent: 1, answered: 0 });
  });

  it('that hangs inside the answer is LLM_TIMEOUT', async () => {
    server.script((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).write('{"choices":[');
    });
    expect(await failureOf(generate(0, aModelRequest({ silenceMs: 50 })))).toMatchObject({ code: 'LLM_TIMEOUT' });
  });
});

describe('an answer that is no chat completion', () => {
  it.each([
    ['HTML', 'text/html', '<html>Login</html>'],
    ['broken JSON', 'application/json', '{"choices":'],
    ['nothing', 'application/json', ''],
    ['something else', 'application/json', '{"object":"list"}'],
  ])('such as %s is LLM_BAD_REPLY', async (_what, type, body) => {
    server.script((_request, response) => void response.writeHead(200, { 'content-type': type }).end(body));
    expect(await failureOf(generate())).toMatchObject({ code: 'LLM_BAD_REPLY' });
  });
});
