import { stripThinking } from '../../../../runtime/util/text/strip-thinking';

it.each([
  ['<think>hm</think>Yes.', 'Yes.'],
  ['a <think>x</think> b <THINKING>y</THINKING> c', 'a  b  c'],
  ['<think>a <think>b</think> c</think> d', 'd'],
  ['thinking without its start</think>Yes.', 'Yes.'],
  ['<think>cut off', ''],
  ['<thinking>', ''],
  ['<think></think>', ''],
  ['The tag <think> opens it.', 'The tag <think> opens it.'],
  ['no thoughts < think', 'no thoughts < think'],
  ['', ''],
])('%j without its thoughts is %j', (text, rest) => expect(stripThinking(text)).toBe(rest));
