import { stripVTControlCharacters } from 'node:util';

import { renderValue } from '../../../runtime/cli/table';

const render = (value: unknown, width?: number): string => stripVTControlCharacters(renderValue(value, { width }).text);

const prices = [
  { model: 'gpt-4o', input: '2.50', free: false, note: null },
  { model: '模型', input: '10.00', free: true, note: null },
];

it('shows a list of rows as a table: figures to the right, wide letters counted, empty columns left out', () => {
  expect(render(prices)).toBe(`model   input  free
gpt-4o   2.50  no
模型    10.00  yes
`);
});

it('shows what else an object has above its list', () => {
  expect(render({ tenant_id: 'a', tokens: { in: 1, out: 2 }, tags: ['x', 'y'], prices })).toBe(`tenant_id   a
tokens.in   1
tokens.out  2
tags        x, y

prices
model   input  free
gpt-4o   2.50  no
模型    10.00  yes
`);
});

it('shows several lists one below the other, without those that are empty', () => {
  expect(render({ ours: [{ id: 1 }], theirs: [], both: [{ id: 2 }] })).toBe(`ours
id
 1

both
id
 2
`);
});

it('cuts the widest cells until a line fits, never a figure, and says so', () => {
  const rows = [{ id: 123456789012, text: 'a long text that goes on', more: 'short' }];
  const { text, isCut } = renderValue(rows, { width: 32 });
  expect(stripVTControlCharacters(text)).toBe(`          id  text         more
123456789012  a long tex…  short
`);
  expect(isCut).toBe(true);
  expect(renderValue(rows, { width: 80 }).isCut).toBe(false);
});

it('shows each row by itself where the columns have no room', () => {
  expect(render([{ first: 'one two three', second: 'four five six' }], 12)).toBe(`first   one two three
second  four five six
`);
});

it('keeps a row on its line, and shows nothing that a terminal obeys', () => {
  expect(render([{ text: 'a\nb\u001b[31m\u202e' }])).toBe('text\na b\\u001b[31m\\u202e\n');
});

it.each([
  [[], '\n'],
  [null, '\n'],
  ['text', 'text\n'],
  [{}, ''],
])('shows %j as %j', (value, text) => {
  expect(render(value)).toBe(text);
});
