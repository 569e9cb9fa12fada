import { UsageError } from '../../../runtime/cli/arguments';
import { command, findCommand, FLAG, TEXT, TEXTS } from '../../../runtime/cli/command';
import { COMMANDS } from '../../../runtime/cli/main';

const run = jest.fn(() => 0);
const commands = [
  command({ words: 'fruit list', help: 'All.', run }),
  command({
    words: 'fruit add',
    names: ['NAME'],
    usage: '--task FILE [--tag TAG]... [--events]',
    help: 'One more.',
    options: { task: TEXT, tag: TEXTS, events: FLAG },
    run,
  }),
  command({ words: 'eat', names: ['FRUIT...'], help: 'Them.', run }),
];

function execute(...argv: string[]): unknown {
  const { command: found, rest } = findCommand(commands, argv);
  return found.execute(rest);
}

beforeEach(() => run.mockClear());

it('gives a command its options and names', () => {
  execute('fruit', 'add', 'plum', '--task', '-', '--tag', 'a', '--tag', 'b', '--events');
  expect(run).toHaveBeenCalledWith({ task: '-', tag: ['a', 'b'], events: true }, ['plum']);
  execute('eat', 'plum', 'pear');
  expect(run).toHaveBeenLastCalledWith({}, ['plum', 'pear']);
});

it.each([
  ['an unknown option', ['fruit', 'add', 'plum', '--colour', 'red'], '--task FILE'],
  ["another command's option", ['fruit', 'list', '--events'], 'fruit list'],
  ['an option without its value', ['fruit', 'add', 'plum', '--task'], '--task'],
  ['an option whose value looks like an option', ['fruit', 'add', 'plum', '--task', '--events'], '--task'],
  ['a value for a flag', ['fruit', 'add', 'plum', '--events=yes'], '--events'],
  ['a missing name', ['fruit', 'add'], 'fruit add needs NAME.'],
  ['one name too many', ['fruit', 'add', 'plum', 'pear'], 'fruit add needs NAME.'],
  ['a name where none belongs', ['fruit', 'list', 'plum'], 'fruit list takes no names'],
  ['an unknown action', ['fruit', 'sing'], 'fruit needs one of: list, add.'],
  ['a missing action', ['fruit'], 'fruit needs one of: list, add.'],
  ['an unknown command', ['sing'], 'Unknown command "sing".'],
])('refuses %s as wrong use', (_what, argv, text) => {
  expect(() => execute(...argv)).toThrow(UsageError);
  expect(() => execute(...argv)).toThrow(text);
  expect(run).not.toHaveBeenCalled();
});

it('never repeats what may be a secret in the wrong place', () => {
  expect(() => execute('fruit', 'list', 'sk-secret')).toThrow(/^(?!.*sk-secret)/s);
});

it.each(COMMANDS.map((one) => [one.words.join(' '), one] as const))(
  'the help of "%s" shows its options, all of them and no others',
  (_words, { usage, help, options }) => {
    const shown = [...`${usage} ${help}`.matchAll(/--([a-z0-9-]+)/g)].map(([, name]) => name);
    expect(new Set(shown)).toEqual(new Set(options));
  },
);
