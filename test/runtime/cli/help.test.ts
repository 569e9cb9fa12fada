import { UsageError } from '../../../runtime/cli/arguments';
import { command, FLAG, text, texts } from '../../../runtime/cli/command';
import { helpText } from '../../../runtime/cli/help';

const run = () => 0;
const groups = [
  {
    title: 'Fruit',
    commands: [
      command({ words: 'fruit list', help: 'All of it. Even\nthe rotten.', run }),
      command({
        words: 'fruit add',
        names: ['NAME'],
        help: 'One more.',
        options: {
          task: { ...text('FILE[:NAME]'), optional: false },
          tag: texts('TAG'),
          kind: { ...text('stone|soft'), short: 'k', help: 'how it is' },
          'dry-run': FLAG,
        },
        run,
      }),
    ],
  },
  { title: 'Meals', commands: [command({ words: 'eat', names: ['FRUIT...'], help: 'Eat them; slowly.', run })] },
];

it('has one line for each command, in groups', () => {
  expect(helpText(groups, [], 'The end')).toBe(`universal-ai-agent <command>

Fruit
  fruit list  All of it
  fruit add   One more

Meals
  eat  Eat them

"universal-ai-agent <command> --help" tells how a command is used.
The end`);
});

it.each([[['fruit', 'add']], [['fruit', 'add', 'plum']]])(
  'tells of one command alone what it does and takes: %j',
  (words) => {
    expect(helpText(groups, words, 'The end'))
      .toBe(`universal-ai-agent fruit add NAME --task FILE[:NAME] [--tag TAG]... [--kind stone|soft] [--dry-run]

One more.

Options
  --task FILE[:NAME]
  --tag TAG
  -k, --kind stone|soft  how it is
  --dry-run              report what would be done, and do nothing
  --json                 JSON, as in a pipe
  --table                tables, as on a terminal
  --wide                 tables with all columns
  -h, --help             this text
`);
  },
);

it('lists the commands of a first word', () => {
  expect(helpText(groups, ['fruit'], '')).toBe(`universal-ai-agent fruit <action>

  fruit list  All of it
  fruit add   One more

"universal-ai-agent <command> --help" tells how a command is used.
`);
});

it('does not make up a command', () => {
  expect(() => helpText(groups, ['friut'], '')).toThrow(UsageError);
  expect(() => helpText(groups, ['fruit', 'lst'], '')).toThrow('Did you mean "fruit list"?');
});
