import type { peekTaskType as PeekTaskType } from '../../../../runtime/queue/intake/peek-task-type';
import { fc } from '../../../support/values/properties';

/** Counts how often the event loop is offered to others. */
let turns = 0;
jest.mock('../../../../runtime/util/turn', () => ({
  turn: () => {
    turns++;
  },
}));

let peekTaskType: typeof PeekTaskType;

beforeAll(async () => {
  // Loaded after the mock is in place.
  ({ peekTaskType } = await import('../../../../runtime/queue/intake/peek-task-type'));
});

const peek = (text: string): Promise<string | undefined> => peekTaskType(Buffer.from(text));

it.each([
  ['{"task_type":"video"}', 'video'],
  ['{ "a" : [ {"task_type":"inner"} ] ,\n"task_type" :\t"video" }', 'video'],
  ['{"a":"\\"task_type\\":","b":"}","task_type":"v\\u0069deo"}', 'video'],
  ['{"a":"task_type","task_type":"video"}', 'video'],
  ['{"a":{"task_type":"inner"}}', undefined],
  ['{"task_type":5}', undefined],
  ['{"task_type":["video"]}', undefined],
  ['["task_type"]', undefined],
  ['"task_type"', undefined],
  ['{"task_type":"video', undefined],
  ['{"task_type', undefined],
  ['{"a":"\\', undefined],
  ['', undefined],
])('finds the type of %s', async (text, type) => {
  expect(await peek(text)).toBe(type);
});

it('says of JSON what the parser says', async () => {
  const task = fc.record({ before: fc.jsonValue(), task_type: fc.string({ maxLength: 50 }), after: fc.jsonValue() });
  await fc.assert(
    fc.asyncProperty(task, async (value) => {
      expect(await peek(JSON.stringify(value, null, 1))).toBe(value.task_type);
    }),
  );
});

it('yields to the event loop every 64 KiB', async () => {
  turns = 0;
  const pairs = '"a\\"b":[{"task_type":1}],'.repeat(20_000);
  expect(await peek(`{${pairs}"task_type":"video"}`)).toBe('video');
  expect(turns).toBeGreaterThanOrEqual(Math.floor(pairs.length / 65_536));
});
