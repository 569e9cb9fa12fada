import { data, delta, DONE } from '../../support/values/stream-chunks';
import { type DialectWorld, openDialectWorld, sends } from '../../support/worlds/dialect-world';

let world: DialectWorld;
beforeAll(async () => {
  world = await openDialectWorld();
});
afterAll(() => world.close());

const TEXT = delta({ content: 'Hello' });
const END = delta({}, 'stop');
const usage = (counts: object): string => data({ choices: [], usage: counts });
const choice = (more: object): object => ({ index: 0, finish_reason: 'stop', ...more });
const WHOLE = { prompt_tokens: 9325, completion_tokens: 76, total_tokens: 9401 };

it.each<[string, string]>([
  ['a chunk of its own', TEXT + END + usage(WHOLE) + DONE],
  [
    'two chunks, each with a side',
    usage({ prompt_tokens: 9325, completion_tokens: 2 }) + TEXT + END + usage({ completion_tokens: 76 }) + DONE,
  ],
  [
    'two chunks, the second with zeros',
    usage({ prompt_tokens: 9325, completion_tokens: 2 }) +
      TEXT +
      END +
      usage({ prompt_tokens: 0, completion_tokens: 76 }) +
      DONE,
  ],
  ['the choice', TEXT + data({ choices: [choice({ delta: {}, usage: WHOLE })] }) + DONE],
  ['the choice, and a null beside it', TEXT + data({ choices: [choice({ delta: {}, usage: WHOLE })], usage: null })],
  ['the delta', TEXT + data({ choices: [choice({ delta: { usage: WHOLE } })] }) + DONE],
  ['the field of Groq', TEXT + END + data({ choices: [], x_groq: { id: 'req_1', usage: WHOLE } }) + DONE],
  [
    'the choice, and zeros beside it',
    TEXT + data({ choices: [choice({ delta: {}, usage: WHOLE })], usage: { prompt_tokens: 0, completion_tokens: 0 } }),
  ],
  ['a chunk before one without numbers', TEXT + END + usage(WHOLE) + usage({ ...WHOLE, prompt_tokens: '9325' }) + DONE],
  ['a chunk before a usage that is text', TEXT + END + usage(WHOLE) + data({ choices: [], usage: 'n/a' }) + DONE],
  ['the last line, without a blank one', `${TEXT}${END}data: ${JSON.stringify({ choices: [], usage: WHOLE })}`],
])('reads the whole usage of a stream from %s', async (_where, text) => {
  const outcome = await world.outcomeOf(sends(text));
  expect(outcome).toMatchObject({ text: 'Hello', tokens: 9401, requests: 1 });
  expect(outcome).not.toHaveProperty('warnings');
});

it('takes the higher count where a side has two names, and says so', async () => {
  const first = usage({ prompt_tokens: 9325, completion_tokens: 2 });
  const outcome = await world.outcomeOf(sends(first + TEXT + END + usage({ output_tokens: 76 }) + DONE));
  const warnings = [expect.stringContaining('2 and 76 completion tokens were read as 9325 + 76')];
  expect(outcome).toMatchObject({ text: 'Hello', tokens: 9401, warnings });
});

it('reads the usage of an unstreamed reply from its choice', async () => {
  const reply = { choices: [choice({ message: { role: 'assistant', content: 'Hello' }, usage: WHOLE })] };
  const outcome = await world.outcomeOf(sends(JSON.stringify(reply), 'application/json'), { stream: false });
  expect(outcome).toMatchObject({ text: 'Hello', tokens: 9401 });
});

it('keeps an answer whose last line has no end', async () => {
  const last = `data: ${JSON.stringify({ choices: [choice({ delta: { content: 'Hello' } })] })}`;
  expect(await world.outcomeOf(sends(last))).toMatchObject({
    text: 'Hello',
    requests: 1,
    warnings: [expect.stringContaining('estimated')],
  });
});
