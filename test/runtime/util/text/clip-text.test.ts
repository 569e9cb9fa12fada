import { clipText } from '../../../../runtime/util/text/clip-text';

it('leaves text that fits alone', () => {
  expect(clipText('abc', 3)).toEqual({ text: 'abc', isCut: false });
  expect(clipText('äöü', 6)).toEqual({ text: 'äöü', isCut: false });
});

it.each([
  ['abcdef', 3, 'abc'],
  ['äöü', 5, 'äö'],
  ['a😀b', 4, 'a'],
  ['a😀b', 5, 'a😀'],
])('cuts %s at %i bytes, never inside a character', (text, limit, clipped) => {
  expect(clipText(text, limit)).toEqual({ text: clipped, isCut: true });
});
