import '../../../support/setup/errors-of-node';

import { openai, refusing, type Rules } from '../../../support/servers/refusing-providers';
import { call } from '../../../support/values/stream-chunks';
import {
  type Answer,
  type DialectWorld,
  openDialectWorld,
  replies,
  sends,
} from '../../../support/worlds/dialect-world';

let world: DialectWorld;

beforeEach(async () => {
  world = await openDialectWorld();
});
afterEach(() => world.close());

const done = replies({ content: 'Done' });
const often = (answer: Answer): readonly Answer[] => Array.from({ length: 10 }, () => answer);

/** A provider that refuses a field in its own words. */
function without(isRefused: (request: object) => boolean, body: unknown, status = 400): readonly Answer[] {
  return often(refusing((request) => (isRefused(request) ? { status, body } : undefined), done));
}

const has =
  (...path: readonly string[]) =>
  (request: object): boolean => {
    let value: unknown = request;
    for (const key of path) value = (value as Readonly<Record<string, unknown>> | undefined)?.[key];
    return value !== undefined;
  };

const FIELDS: [string, object, readonly Answer[]][] = [
  [
    'stream_options',
    {},
    without(
      has('stream_options'),
      {
        detail: [
          {
            type: 'extra_forbidden',
            loc: ['body', 'stream_options', 'include_usage'],
            msg: 'Extra inputs are not permitted',
          },
        ],
      },
      422,
    ),
  ],
  [
    'stream_options',
    {},
    without(has('stream_options'), { message: 'Extra inputs are not permitted: body.stream_options' }),
  ],
  ['stream', {}, without(has('stream'), { error: { message: 'Cannot use tools with stream' } })],
  [
    'parallel_tool_calls',
    { tool_execution: 'single' },
    without(has('parallel_tool_calls'), {
      error: { message: 'Unrecognized request argument supplied: parallel_tool_calls' },
    }),
  ],
  [
    'temperature',
    { temperature: 0.2 },
    without(has('temperature'), {
      error: {
        message:
          "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
        param: 'temperature',
      },
    }),
  ],
  [
    'tool_choice',
    { tool_choice: 'required' },
    without(has('tool_choice'), { error: { message: 'Thinking mode does not support this tool_choice' } }),
  ],
  [
    'tool_choice',
    { tool_choice: 'required' },
    without(
      has('tool_choice'),
      { error: { message: "No endpoints found that support the provided 'tool_choice' value." } },
      404,
    ),
  ],
];

it.each(FIELDS)('asks once more without %s, says so, and remembers it', async (name, config, answers) => {
  const first = await world.outcomeOf(answers, { config });
  expect(first).toMatchObject({ text: 'Done', requests: 2, tokens: 120 });
  expect(first.warnings).toEqual([expect.stringContaining(`refused "${name}", so it was asked without: `)]);
  expect(await world.outcomeOf(answers, { config })).toMatchObject({ text: 'Done', requests: 1, tokens: 120 });
});

it('warns in each run of what the task asked for in vain', async () => {
  const [, config, answers] = FIELDS.find(([name]) => name === 'temperature') as (typeof FIELDS)[number];
  const { warnings } = await world.outcomeOf(answers, { config });
  expect((await world.outcomeOf(answers, { config })).warnings).toEqual(warnings);
});

it('remembers for the model that refused, and for no other', async () => {
  const [, config, answers] = FIELDS.find(([name]) => name === 'temperature') as (typeof FIELDS)[number];
  await world.outcomeOf(answers, { config });
  const other = await world.outcomeOf(often(done), { config: { ...config, model_override: 'openai/gpt-4.1' } });
  expect(other).toMatchObject({ text: 'Done', requests: 1 });
  expect(world.models.received.at(-1)).toMatchObject({ temperature: 0.2 });
});

it('remembers nothing that did not help', async () => {
  const message = "Unsupported parameter: 'temperature' is not supported with this model.";
  const refusesAll = without(() => true, { error: { message } });
  expect(await world.outcomeOf(refusesAll, { config: { temperature: 0.2 } })).toMatchObject({
    code: 'LLM_BAD_REQUEST',
    requests: 2,
  });
  await world.outcomeOf(often(done), { config: { temperature: 0.2 } });
  expect(world.models.received.at(-1)).toMatchObject({ temperature: 0.2 });
});

it('gives the limit of tokens its other name where a model takes only that, and never leaves it out', async () => {
  const [name, other] = ['max_tokens', 'max_completion_tokens'];
  const config = { max_tokens: 50 };
  const message = `Unsupported parameter: '${name}' is not supported with this model. Use '${other}' instead.`;
  const outcome = await world.outcomeOf(without(has(name), { error: { message, param: name } }), { config });
  expect(outcome).toMatchObject({ text: 'Done', requests: 2 });
  expect(world.models.received.at(-1)).toMatchObject({ [other]: 50 });
  const refusesBoth = without(() => true, { error: { message: `Unknown parameter: '${other}'` } });
  expect(await world.outcomeOf(refusesBoth, { config })).toMatchObject({ code: 'LLM_BAD_REQUEST', requests: 1 });
});

it.each([['o3-mini'], ['openai/o4-mini']])('does not send %s what OpenAI refuses it', async (model) => {
  const config = { model_override: model, tool_execution: 'single' };
  expect(await world.outcomeOf(often(refusing(openai, done)), { config })).toMatchObject({ text: 'Done', requests: 1 });
});

it("leaves a message's own field out that a provider does not want back", async () => {
  const reasons = { content: null, reasoning: 'Hm', tool_calls: [call('a', 'weather', '{}')] };
  const refuses: Rules = ({ messages }) => {
    const place = messages.findIndex((message) => 'reasoning' in message);
    const message = `'messages.${place}' : for 'role:assistant' the following must be satisfied[('messages.${place}' : property 'reasoning' is unsupported)]`;
    return place === -1 ? undefined : { status: 400, body: { error: { message } } };
  };
  const answers = [replies(reasons, 'tool_calls'), ...often(refusing(refuses, done))];
  const outcome = await world.outcomeOf(answers);
  expect(outcome).toMatchObject({ text: 'Done', requests: 3, called: ['weather {}'] });
  expect(outcome.warnings).toEqual([expect.stringContaining('refused "reasoning"')]);
});

it.each([
  ['This model supports a maximum context length of 4096 tokens; reduce max_tokens or the length of the messages.'],
  ['The image is too large'],
  ['messages.0: `tool_use` ids were found without `tool_result` blocks'],
])('does not ask again after: %s', async (message) => {
  const refusesAll = without(() => true, { error: { message } });
  const outcome = await world.alike(refusesAll, { max_tokens: 50, temperature: 0.1 });
  expect(outcome).toMatchObject({ code: 'LLM_BAD_REQUEST', requests: 1 });
});

describe('a call that the model wrote wrong and the provider refused', () => {
  const failed = (message: string): Answer =>
    sends(
      JSON.stringify({
        error: {
          message,
          type: 'invalid_request_error',
          code: 'tool_use_failed',
          failed_generation: '<function=weather>{"city": "Rome"}</function>',
        },
      }),
      'application/json',
      400,
    );
  const slip = failed(
    "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.",
  );

  it('is shown to the model, and the run goes on', async () => {
    const asks = replies({ content: null, tool_calls: [call('a', 'weather', '{"city":"Rome"}')] }, 'tool_calls');
    const outcome = await world.alike([slip, asks, done]);
    expect(outcome).toMatchObject({ text: 'Done', called: ['weather {"city":"Rome"}'], requests: 3 });
    const [, retried, last] = world.models.received.slice(-3);
    expect(retried?.messages.slice(-2)).toMatchObject([
      { role: 'assistant', content: '<function=weather>{"city": "Rome"}</function>' },
      { role: 'user', content: expect.stringContaining('Failed to call a function') as string },
    ]);
    // It is no part of the conversation.
    expect(last?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
  });

  it('is not mistaken for a fault of the tool that it names', async () => {
    const answers = [failed("tool call validation failed: parameters for tool 'weather' did not match schema"), done];
    const outcome = await world.alike(answers);
    expect(outcome).toMatchObject({ text: 'Done', requests: 2 });
    expect(outcome.warnings).toBeUndefined();
  });

  it('ends the run the third time, and is not held against the tool that it names', async () => {
    const named = failed('tool call validation failed: parameters for tool weather did not match schema: errors: []');
    expect(await world.alike(often(named))).toMatchObject({ code: 'LLM_BAD_REQUEST', requests: 3 });
    await world.outcomeOf([done]);
    expect(world.models.received.at(-1)?.tools).toHaveLength(2);
  });

  it('is told in the middle of a stream as well, unless something was shown', async () => {
    const event = `event: error\ndata: {"error":{"message":"Failed to call a function.","code":"tool_use_failed","status_code":400}}\n\n`;
    const begun = 'data: {"choices":[{"index":0,"delta":{"content":"Let me"}}]}\n\n';
    expect(await world.outcomeOf([sends(event), done])).toMatchObject({ text: 'Done', requests: 2 });
    expect(await world.outcomeOf([sends(begun + event), done])).toMatchObject({ code: 'LLM_BAD_REQUEST', requests: 1 });
  });
});
