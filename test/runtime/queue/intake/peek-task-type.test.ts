import { peekTaskType } from '../../../../runtime/queue/intake/peek-task-type';
import { fc } from '../../../support/values/properties';

const peek = (text: string): string | undefined => peekTaskType(Buffer.from(text));

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
])('finds the type of %s', (text, type) => {
  expect(peek(text)).toBe(type);
});

it('says of JSON what the parser says', () => {
  const task = fc.record({ before: fc.jsonValue(), task_type: fc.string({ maxLength: 50 }), after: fc.jsonValue() });
  fc.assert(
    fc.property(task, (value) => {
      expect(peek(JSON.stringify(value, null, 1))).toBe(value.task_type);
    }),
  );
});
