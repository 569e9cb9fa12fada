import type { UsageFile } from '../../admin/contract/usage';
import type { AdminOperation } from '../../admin/operation';
import { OPERATIONS, RESOURCES } from '../../admin/operations';
import type { Runtime } from '../../compose/create-runtime';
import { isJsonObject } from '../../util/json';
import { escapeHidden } from '../../util/text/escape-hidden';
import { type Command, command } from '../command';
import { openInstallation, openRuntime, openToolRuntime } from '../environment';
import type { CommandGroup } from '../help';
import { printJson } from '../output';
import { terminal } from '../terminal';
import { commandWords, flagsOf, isUnseen, optionOf, usageOf } from './flags';
import { readFlags } from './read-flags';
import { FLAG_WORDS } from './words.generated';

type AnyOperation = AdminOperation<string, Parameters<typeof flagsOf>[0], unknown>;
type Operations = Readonly<
  Record<string, Readonly<Record<string, (input: unknown, host: unknown) => Promise<unknown>>>>
>;

/** A command for each operation of administration, by resource. */
export function operationGroups(): readonly CommandGroup[] {
  return Object.entries(RESOURCES).map(([resource, title]) => ({
    title,
    commands: (OPERATIONS as unknown as readonly AnyOperation[])
      .filter(({ name }) => name.startsWith(`${resource}.`))
      .map(toCommand),
  }));
}

function toCommand(operation: AnyOperation): Command {
  const { name, description, input, isGood = () => true } = operation;
  const [resource = '', verb = ''] = name.split('.');
  const flags = flagsOf(input);
  const words = commandWords(name);
  const help = flags.some(isUnseen) ? `${description}. The secret is read from standard input.` : `${description}.`;
  return command({
    words,
    usage: usageOf(name, input),
    names: ['...'],
    help,
    options: Object.fromEntries(
      flags.filter((flag) => !isUnseen(flag)).map((flag) => [flag.name, optionOf(flag, FLAG_WORDS[name]?.[flag.key])]),
    ),
    run: async (options, names) => {
      const given = await readFlags({ words, flags, options, names });
      const runtime = open(operation);
      try {
        const operations = runtime.admin as unknown as Operations;
        const result = await operations[resource]?.[verb]?.(given, { onProgress });
        print(result);
        return isGood(result) ? 0 : 1;
      } finally {
        await runtime.close();
      }
    },
  });
}

/** A provider that nobody asks need not be configured well. */
function open({ asksModel = false, needs = [] }: AnyOperation): Runtime {
  if (asksModel) return openRuntime();
  return needs.includes('provider') ? openInstallation() : openToolRuntime();
}

const onProgress = (progress: string): void => void terminal().stderr.write(`${escapeHidden(progress)}\n`);

/** A file goes to standard output as it is, for `>`; everything else as JSON or a table. */
function print(result: unknown): void {
  const { stdout } = terminal();
  if (isFile(result)) stdout.write(stdout.isTTY === true ? escapeHidden(result.text) : result.text);
  else printJson(result);
}

const isFile = (result: unknown): result is UsageFile => isJsonObject(result) && 'mime_type' in result;
