import { peekTaskType } from '../../../../runtime/queue/intake/peek-task-type';
import { fc } from '../../../support/values/properties';

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

it('gives others their turn while it looks through what is large', async () => {
  let turns = 0;
  const timer = setInterval(() => turns++, 0);
  const pairs = '"a\\"b":[{"task_type":1}],'.repeat(200_000);
  expect(await peek(`{${pairs}"task_type":"video"}`)).toBe('video');
  clearInterval(timer);
  expect(turns).toBeGreaterThan(1);
});
