import { turn } from '../../../runtime/util/turn';

let now = 0;
beforeEach(() => jest.spyOn(performance, 'now').mockImplementation(() => now));

const PIECE_MS = 4;

async function work(log: string[]): Promise<void> {
  for (let piece = 0; piece < 12; piece++) {
    await turn();
    now += PIECE_MS;
    log.push('piece');
  }
}

it('the pieces of all who work at once take ten milliseconds of a turn, and one piece more', async () => {
  const log: string[] = [];
  let isDone = false;
  const others = (): void => {
    log.push('others');
    if (!isDone) setImmediate(others);
  };
  setImmediate(others);
  await Promise.all([work(log), work(log), work(log)]);
  isDone = true;
  const turns = log.join(' ').split('others');
  expect(log.filter((entry) => entry === 'piece')).toHaveLength(36);
  expect(Math.max(...turns.map((one) => one.match(/piece/g)?.length ?? 0))).toBe(3);
});

it('costs nothing while there is time', async () => {
  await turn();
  expect(turn()).toBeUndefined();
});
