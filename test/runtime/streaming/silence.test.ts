import { setTimeout as sleep } from 'node:timers/promises';

import { delta, DONE, USAGE } from '../../support/values/stream-chunks';
import { type Answer, type DialectWorld, openDialectWorld } from '../../support/worlds/dialect-world';

let world: DialectWorld;
beforeAll(async () => {
  world = await openDialectWorld();
});
afterAll(() => world.close());

const config = (seconds: number): object => ({ model_silence_seconds: seconds });

/** Sends each text after a pause, and leaves the connection open. */
const slowly =
  (texts: readonly string[], pauseMs = 100): Answer =>
  async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const text of texts) {
      await sleep(pauseMs);
      response.write(text);
    }
  };

it('lets a stream of signs of life and words take longer than the silence that it may have', async () => {
  const alive = Array.from({ length: 13 }, () => ': still here\n\n');
  const words = Array.from({ length: 13 }, (_, index) => delta({ content: `${index} ` }));
  const stream = slowly([...alive, ...words, delta({}, 'stop'), USAGE, DONE]);
  const outcome = await world.outcomeOf(stream, { config: config(1.1) });
  expect(outcome).toMatchObject({ requests: 1, tokens: 120, text: expect.stringMatching(/^0 1 .* 12$/) as string });
});

it('ends a shown stream that falls silent with LLM_TIMEOUT, without another request', async () => {
  const outcome = await world.outcomeOf(slowly([delta({ content: 'Half of ' })], 0), { config: config(0.3) });
  expect(outcome).toMatchObject({
    code: 'LLM_TIMEOUT',
    message: 'The model sent nothing for 0.3 seconds.',
    shown: 'Half of',
    requests: 1,
    warnings: [expect.stringContaining('usage') as string],
  });
});

it('books the usage of a stream that falls silent behind it', async () => {
  const silent = slowly([USAGE, delta({ content: 'Half of ' })], 0);
  expect(await world.outcomeOf(silent, { config: config(0.3) })).toMatchObject({
    code: 'LLM_TIMEOUT',
    tokens: 120,
    requests: 1,
  });
});

it('asks again where nothing came', async () => {
  const nothing: Answer = () => undefined;
  const outcome = await world.outcomeOf([nothing, nothing, nothing], { config: config(0.1) });
  expect(outcome).toMatchObject({ code: 'LLM_TIMEOUT', shown: '', requests: 3 });
});

it('does not wait for the rest of an unstreamed reply', async () => {
  const half: Answer = (response) => response.writeHead(200).write('{"choices":[');
  expect(await world.outcomeOf([half, half, half], { stream: false, config: config(0.1) })).toMatchObject({
    code: 'LLM_TIMEOUT',
    requests: 3,
  });
});
