import { inBatches } from '../../../runtime/tenants/in-batches';

interface Asked {
  readonly keys: readonly string[];
  readonly answer: (answers?: ReadonlyMap<string, string>) => void;
  readonly fail: (error: Error) => void;
}

function askable(maxKeys = 10): {
  readonly asked: Asked[];
  readonly load: (key: string) => Promise<string | undefined>;
} {
  const asked: Asked[] = [];
  const load = inBatches<string, string>((keys) => {
    const { promise, resolve, reject } = Promise.withResolvers<ReadonlyMap<string, string>>();
    const all = new Map(keys.map((key) => [key, `of ${key}`]));
    asked.push({ keys, answer: (answers = all) => resolve(answers), fail: reject });
    return promise;
  }, maxKeys);
  return { asked, load };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('asks at once for who comes alone, and together for who comes meanwhile', async () => {
  const { asked, load } = askable();
  const first = load('a');
  const later = [load('b'), load('c'), load('b')];
  expect(asked.map(({ keys }) => keys)).toEqual([['a']]);
  asked[0]?.answer();
  expect(await first).toBe('of a');
  await turn();
  expect(asked.map(({ keys }) => keys)).toEqual([['a'], ['b', 'c']]);
  asked[1]?.answer();
  expect(await Promise.all(later)).toEqual(['of b', 'of c', 'of b']);
});

it('answers a key with a question that was put after it came', async () => {
  const { asked, load } = askable();
  const before = load('a');
  const after = load('a');
  asked[0]?.answer(new Map([['a', 'old']]));
  expect(await before).toBe('old');
  await turn();
  asked[1]?.answer(new Map([['a', 'new']]));
  expect(await after).toBe('new');
});

it('gives nothing for what is not there', async () => {
  const { asked, load } = askable();
  const missing = load('a');
  asked[0]?.answer(new Map());
  expect(await missing).toBeUndefined();
});

it('asks each alone when a question for several fails', async () => {
  const { asked, load } = askable();
  void load('a');
  const good = load('good');
  const bad = load('bad');
  asked[0]?.answer();
  await turn();
  asked[1]?.fail(new Error('one of them is bad'));
  await turn();
  expect(asked.slice(2).map(({ keys }) => keys)).toEqual([['good'], ['bad']]);
  asked[2]?.answer();
  asked[3]?.fail(new Error('this one'));
  expect(await good).toBe('of good');
  await expect(bad).rejects.toThrow('this one');
  const next = load('next');
  await turn();
  asked[4]?.answer();
  expect(await next).toBe('of next');
});

it('asks for no more at a time than it may', async () => {
  const { asked, load } = askable(2);
  const all = ['a', 'b', 'c', 'd'].map(load);
  for (const index of [0, 1, 2]) {
    await turn();
    asked[index]?.answer();
  }
  expect(await Promise.all(all)).toHaveLength(4);
  expect(asked.map(({ keys }) => keys)).toEqual([['a'], ['b', 'c'], ['d']]);
});
