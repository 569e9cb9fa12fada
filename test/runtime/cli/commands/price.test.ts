import { UsageError } from '../../../../runtime/cli/arguments';
import { findCommand } from '../../../../runtime/cli/command';
import { priceCommands } from '../../../../runtime/cli/commands/price';

it.each([
  [['set']],
  [['set', 'a/b']],
  [['set', 'a/b', '--input', '1']],
  [['set', 'a/b', '--input=-1', '--output', '1']],
  [['set', 'a/b', '--input', '1e3', '--output', '1']],
  [['set', 'a/b', '--input', '', '--output', '1']],
  [['set', 'a b', '--input', '1', '--output', '1']],
  [['set', 'x'.repeat(101), '--input', '1', '--output', '1']],
  [['list', 'a/b']],
  [['sync', 'openai/gpt-4o']],
  [['sync', '--overwrite']],
  [['sync', '--tier', 'pro']],
  [['sync', '--tier', 'pro=,expert=a/b']],
  [['remove']],
  [[]],
])('says how it is used, before it opens anything: %j', async (args) => {
  const execute = async (): Promise<number> => {
    const { command, rest } = findCommand(priceCommands, ['price', ...args]);
    return command.execute(rest);
  };
  await expect(execute()).rejects.toThrow(UsageError);
});
