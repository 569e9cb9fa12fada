import '../../../support/setup/errors-of-node';

import { type Answer, type DialectWorld, openDialectWorld, sends } from '../../../support/worlds/dialect-world';

let world: DialectWorld;

beforeAll(async () => {
  world = await openDialectWorld();
});
afterAll(() => world.close());

const answers = (...[status, body]: readonly [status: number, body: unknown]): Answer =>
  sends(typeof body === 'string' ? body : JSON.stringify(body), 'application/json', status);

/** An error of OpenRouter that wraps one of its provider's. */
const wrapped = (raw: unknown): object => ({
  error: { message: 'Provider returned error', code: 400, metadata: { raw, provider_name: 'OpenAI' } },
});
const inner = { error: { message: 'The image is too large' } };

const REASONS: [what: string, reply: [status: number, body: unknown], reason: string][] = [
  ['the JSON of a provider inside', [400, wrapped(JSON.stringify(inner))], 'The image is too large'],
  ['an object of a provider inside', [400, wrapped(inner)], 'The image is too large'],
  ['words of a provider inside', [400, wrapped('The image is too large')], 'The image is too large'],
  [
    'the JSON of two gateways inside',
    [400, wrapped(JSON.stringify(wrapped(JSON.stringify(inner))))],
    'image is too large',
  ],
  ['the page of a provider inside', [400, wrapped('<html><title>No such host</title></html>')], 'No such host'],
  [
    'the list of FastAPI',
    [422, { detail: [{ loc: ['body', 'n'], msg: 'Must be one', type: 'x' }] }],
    'body.n: Must be one',
  ],
  ['the words of FastAPI', [422, { detail: 'The image is too large' }], 'The image is too large'],
  [
    'the list of Google',
    [400, [{ error: { code: 400, message: 'Bad field', status: 'INVALID_ARGUMENT' } }]],
    'Bad field',
  ],
  [
    'the details of Google',
    [
      400,
      {
        error: {
          message: 'Invalid',
          details: [{ fieldViolations: [{ field: 'labels[2]', description: 'is empty' }] }],
        },
      },
    ],
    'labels[2]: is empty',
  ],
  ['the list of Cloudflare', [400, { success: false, errors: [{ code: 7003, message: 'No route' }] }], 'No route'],
  ['an error as text', [400, { error: 'The image is too large' }], 'The image is too large'],
  ['plain text', [400, 'The image is too large'], 'The image is too large'],
  ['a place that is no place', [422, { detail: [{ loc: [{ toString: 1 }], msg: 'Must be one' }] }], 'Must be one'],
];

it.each(REASONS)('takes the reason from %s', async (_what, reply, reason) => {
  const outcome = await world.alike(answers(...reply));
  expect(outcome).toMatchObject({ code: 'LLM_BAD_REQUEST', requests: 1 });
  expect(outcome.message).toContain(reason);
  expect(outcome.message?.split(reason)).toHaveLength(2);
});

it('takes the reason from the error of a provider in the middle of a stream', async () => {
  const outcome = await world.outcomeOf(sends(`data: ${JSON.stringify(wrapped(JSON.stringify(inner)))}\n\n`));
  expect(outcome).toMatchObject({ code: 'LLM_BAD_REQUEST', requests: 1 });
  expect(outcome.message).toContain('The image is too large');
});

const FILTERS: [whose: string, reply: [status: number, body: unknown], reason: string][] = [
  [
    'OpenRouter',
    [
      403,
      {
        error: {
          message: 'Your chosen model requires moderation and your input was flagged',
          code: 403,
          metadata: { reasons: ['violence'], flagged_input: 'How do I' },
        },
      },
    ],
    'violence',
  ],
  [
    'Azure',
    [
      400,
      {
        error: {
          message: 'The response was filtered',
          param: 'prompt',
          code: 'content_filter',
          status: 400,
          innererror: { code: 'ResponsibleAIPolicyViolation' },
        },
      },
    ],
    'The response was filtered',
  ],
  [
    'DashScope',
    [400, { error: { code: 'data_inspection_failed', message: 'Input data may contain inappropriate content.' } }],
    'inappropriate content',
  ],
  [
    'DeepSeek',
    [400, { error: { message: 'Content Exists Risk', type: 'invalid_request_error' } }],
    'Content Exists Risk',
  ],
];

it.each(FILTERS)('tells a filter of %s from a refused key and a bad request', async (_whose, reply, reason) => {
  const outcome = await world.alike(answers(...reply));
  expect(outcome).toMatchObject({ code: 'LLM_CONTENT_FILTERED', requests: 1 });
  expect(outcome.message).toContain(reason);
});

it.each([
  [400, "Invalid schema for function 'content_management_search': array schema missing items.", 'LLM_BAD_REQUEST'],
  [400, "Invalid schema for function 'update_content_policy': array schema missing items.", 'LLM_BAD_REQUEST'],
  [403, "Your API key is restricted by your organization's usage policy", 'LLM_AUTH_FAILED'],
])('does not take HTTP %i "%s" for a filter', async (status, message, code) => {
  expect(await world.alike(answers(status, { error: { message } }))).toMatchObject({ code });
});

it.each([
  [401, 'LLM_AUTH_FAILED'],
  [403, 'LLM_AUTH_FAILED'],
])('takes HTTP %i without words of a filter for a refused key', async (status, code) => {
  expect(await world.alike(answers(status, { error: { message: 'No access to this model' } }))).toMatchObject({ code });
});

it('shows no secret of a wrapped error', async () => {
  const outcome = await world.alike(
    answers(400, wrapped(JSON.stringify({ error: { message: 'key sk-dialects is' } }))),
  );
  expect(outcome.message).toContain('key [redacted] is');
});

it('is short of memory and time for an error without end', async () => {
  let nested: unknown = 'deep';
  for (let depth = 0; depth < 150; depth++) nested = { error: [nested, { message: `m${depth}` }, 'x'.repeat(5000)] };
  const { message = '' } = await world.alike(answers(400, nested));
  expect(message.length).toBeLessThan(1000);
});
