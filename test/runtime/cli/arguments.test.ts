import { readArguments, UsageError } from '../../../runtime/cli/arguments';

it('splits words from options', () => {
  expect(readArguments(['db', 'seed-demo', '--tool-server', 'http://localhost:1'])).toEqual({
    words: ['db', 'seed-demo'],
    options: { 'tool-server': 'http://localhost:1' },
  });
});

it('reads a single dash as a value', () => {
  expect(readArguments(['run', '--task', '-']).options.task).toBe('-');
});

it.each([
  ['an unknown option', ['run', '--colour', 'red']],
  ['an option without its value', ['run', '--task']],
  ['an option whose value looks like an option', ['run', '--task', '--tier', 'pro']],
  ['a value for a flag', ['run', '--events=yes']],
])('refuses %s as wrong use', (_what, argv) => {
  expect(() => readArguments(argv)).toThrow(UsageError);
});
