import { answerText } from '../../../runtime/loop/transcript';

const textOf = (content: string | null): string => answerText({ role: 'assistant', content });

it.each([
  ['<think>hm</think>Yes.', 'Yes.'],
  ['a <think>x</think> b <think>y</think> c', 'a  b  c'],
  ['thinking without its start</think>Yes.', 'Yes.'],
  ['<think>cut off', ''],
  ['The tag <think> opens it.', 'The tag <think> opens it.'],
  [null, ''],
])('leaves the thinking out of %j', (content, text) => expect(textOf(content)).toBe(text));
