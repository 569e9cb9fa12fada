import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

const ROOT = path.resolve(__dirname, '../..');
const page = readFileSync(path.join(ROOT, 'docs/data-flow.md'), 'utf8');

/** The walks of the page: the heading and the lines of the block beneath it, but for the one of a migrated workflow. */
const walks = [...page.matchAll(/\n## (One run|One tool call|One queued task)\n\n```\n([^]*?)```/g)].map(
  ([, name = '', block = '']) => ({ name, lines: block.split('\n').filter((line) => line.trim() !== '') }),
);

const fileOf = (line: string): string => /^\s*(\S+)/.exec(line)?.[1] ?? '';
const indent = (line: string): number => line.length - line.trimStart().length;

it('there are three walks', () => {
  expect(walks.map(({ name }) => name)).toEqual(['One run', 'One tool call', 'One queued task']);
});

describe.each(walks)('$name', ({ lines }) => {
  it('names files that are there', () => {
    const paths = lines.map(fileOf).map((file) => (file.startsWith('nodes/') ? file : `runtime/${file}`));
    expect(paths.filter((file) => !existsSync(path.join(ROOT, file)))).toEqual([]);
  });

  it('names each file once', () => {
    const files = lines.map(fileOf);
    expect(files.filter((file, index) => files.indexOf(file) !== index)).toEqual([]);
  });

  it('goes down only: one step further in at a time', () => {
    const steps = lines.slice(1).map((line, index) => indent(line) - indent(lines[index] ?? ''));
    expect(steps.filter((step) => step > 2 || step % 2 !== 0)).toEqual([]);
  });
});
