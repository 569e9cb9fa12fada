import { type Command, commandsOf, findCommand } from './command';

/** Commands that belong together, as the general help shows them. */
export interface CommandGroup {
  readonly title: string;
  readonly commands: readonly Command[];
}

const PROGRAM = 'universal-ai-agent';

/** Options that mean the same wherever they are taken. */
const KNOWN_OPTIONS: Readonly<Record<string, string>> = {
  tenant: "the tenant's ID, or its name if no other has it",
  tier: 'the model tier; the tenant has a default',
  'dry-run': 'report what would be done, and do nothing',
  overwrite: 'replace what is there',
};

const SHARED_OPTIONS = [
  ['--json', 'JSON, as in a pipe'],
  ['--table', 'tables, as on a terminal'],
  ['--wide', 'tables with all columns'],
  ['-h, --help', 'this text'],
] as const;

/** What the words of a command or of a group ask for; without any, each command in a line. Throws a UsageError. */
export function helpText(groups: readonly CommandGroup[], words: readonly string[], footer: string): string {
  const all = groups.flatMap(({ commands }) => commands);
  const [first] = words;
  if (first === undefined) {
    const parts = groups.map(({ title, commands }) => `${title}\n${columns(commands.map(line))}`);
    return `${PROGRAM} <command>\n\n${parts.join('\n')}\n${MORE}${footer}`;
  }
  const group = commandsOf(all, first);
  const isGroup = words.length === 1 && group.length > 1 && group.every((command) => command.words.length > 1);
  if (isGroup) return `${PROGRAM} ${first} <action>\n\n${columns(group.map(line))}\n${MORE}`;
  return commandHelp(findCommand(all, words).command);
}

const MORE = `"${PROGRAM} <command> --help" tells how a command is used.\n`;

function commandHelp({ usage, help, options }: Command): string {
  const own = Object.entries(options).map(
    ([name, { short, value = '', help: words = KNOWN_OPTIONS[name] ?? '' }]) =>
      [`${short === undefined ? '' : `-${short}, `}--${name} ${value}`.trimEnd(), words] as const,
  );
  return `${PROGRAM} ${usage}\n\n${help}\n\nOptions\n${columns([...own, ...SHARED_OPTIONS])}`;
}

function line({ words, help }: Command): readonly [string, string] {
  const [sentence = help] = /^.*?[.;:](?=\s|$)/s.exec(help) ?? [];
  return [words.join(' '), sentence.replace(/[.;:]$/, '').replaceAll('\n', ' ')];
}

const columns = (rows: readonly (readonly [string, string])[]): string => {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, text]) => `  ${name.padEnd(width + 2)}${text}`.trimEnd() + '\n').join('');
};
