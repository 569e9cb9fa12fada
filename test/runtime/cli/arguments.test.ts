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

async function execute(...argv: string[]): Promise<unknown> {
  const { command: found, rest } = findCommand(commands, argv);
  return found.execute(rest);
}

beforeEach(() => run.mockClear());

it('gives a command its options and names', async () => {
  await execute('fruit', 'add', 'plum', '--task', '-', '--tag', 'a', '--tag', 'b', '--events');
  expect(run).toHaveBeenCalledWith({ task: '-', tag: ['a', 'b'], events: true }, ['plum']);
  await execute('eat', 'plum', 'pear');
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
  ['a misspelt option', ['fruit', 'add', 'plum', '--taks', '-'], 'There is no option --taks. Did you mean --task?'],
  ['a misspelt action', ['fruit', 'lst'], 'Did you mean "fruit list"?'],
  ['a misspelt first word', ['friut', 'list'], 'Did you mean "fruit list"?'],
  ['a misspelt command', ['eta', 'plum'], 'Did you mean "eat"?'],
  ['two forms of output', ['fruit', 'list', '--json', '--table'], '--json or --table, not both'],
])('refuses %s as wrong use', async (_what, argv, text) => {
  await expect(execute(...argv)).rejects.toThrow(UsageError);
  await expect(execute(...argv)).rejects.toThrow(text);
  expect(run).not.toHaveBeenCalled();
});

it('takes the singular and the plural of the first of two words', async () => {
  await execute('fruits', 'add', 'plum');
  expect(run).toHaveBeenCalledWith({}, ['plum']);
  await expect(execute('eats', 'plum')).rejects.toThrow('Unknown command');
});

it('tells a command of one word from a group whose singular it is', () => {
  const [one, list] = [jest.fn(() => 0), jest.fn(() => 0)];
  const both = [command({ words: 'run', help: '', run: one }), command({ words: 'runs list', help: '', run: list })];
  const { command: found } = findCommand(both, ['run', 'list']);
  expect(found.words).toEqual(['runs', 'list']);
  expect(findCommand(both, ['runs', 'list']).command).toBe(found);
  expect(findCommand(both, ['run', '--json']).command.words).toEqual(['run']);
  expect(() => findCommand(both, ['runs', 'lst'])).toThrow('runs needs one of: list. Did you mean "runs list"?');
});

it('takes --json and --table with every command, and keeps them from it', async () => {
  await execute('fruit', 'list', '--json');
  await execute('eat', 'plum', '--table');
  expect(run.mock.calls).toEqual([
    [{}, []],
    [{}, ['plum']],
  ]);
});

it('never repeats what may be a secret in the wrong place', async () => {
  const refused: unknown = await execute('fruit', 'list', 'sk-secret').catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(UsageError);
  expect((refused as Error).message).not.toContain('sk-secret');
});

it.each(COMMANDS.map((one) => [one.words.join(' '), one] as const))(
  'the help of "%s" shows its options, all of them and no others',
  (_words, { usage, help, options }) => {
    const shown = [...`${usage} ${help}`.matchAll(/--([a-z0-9-]+)/g)].map(([, name]) => name);
    expect(new Set(shown)).toEqual(new Set(options));
  },
);
