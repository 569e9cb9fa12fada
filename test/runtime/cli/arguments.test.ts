import { UsageError } from '../../../runtime/cli/arguments';
import { command, findCommand, FLAG, text, texts } from '../../../runtime/cli/command';
import { allGroups } from '../../../runtime/cli/main';

const run = jest.fn(() => 0);
const commands = [
  command({ words: 'fruit list', help: 'All.', run }),
  command({
    words: 'fruit add',
    names: ['NAME'],
    help: 'One more.',
    options: { task: text('FILE'), tag: texts('TAG'), events: FLAG },
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

it('no command is called as another one, and none begins as another one is called', async () => {
  const words = (await allGroups()).flatMap(({ commands: own }) => own.map((one) => one.words.join(' ')));
  expect(new Set(words).size).toBe(words.length);
  expect(words.filter((one) => words.some((other) => other.startsWith(`${one} `)))).toEqual([]);
});
