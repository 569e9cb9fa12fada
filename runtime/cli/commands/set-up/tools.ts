import { RuntimeError } from '../../../errors/runtime-error';
import { type JsonValue, tryParseJson } from '../../../util/json';
import { readStandardInput, readTenant, readWhole } from '../../arguments';
import { command, TENANT, TEXT } from '../../command';
import { withAdmin, withToolRuntime } from '../../environment';
import { printError, printJson } from '../../output';

const COMMON = { tenant: TENANT, tier: TEXT } as const;

export const toolsCommands = [
  command({
    words: 'tools list',
    usage: '[--tenant ID [--tier TIER]] [--filter TEXT] [--limit N] [--after CODE]',
    help: 'Every tool that the tenant is offered: name, type, server, parameters. Without a tenant, the catalogue.',
    options: { ...COMMON, filter: TEXT, limit: TEXT, after: TEXT },
    run: ({ tier, filter, limit, after, ...options }) => {
      const tenantId = options.tenant === undefined ? undefined : readTenant(options, 'tools list');
      const query = { tenantId, tier, filter, limit: readWhole(limit, 'limit'), after };
      return withAdmin(({ tool }) => tool.list(query));
    },
  }),
  command({
    words: 'tools call',
    names: ['NAME'],
    usage: '--tenant ID [--tier TIER] [--arguments JSON|-] [--meta JSON]',
    help: 'Call one tool as a run would; exit 1 when it fails.',
    options: { ...COMMON, arguments: TEXT, meta: TEXT },
    run: async (options, [tool = '']) => {
      const query = { tenantId: readTenant(options, 'tools call'), tier: options.tier, tool };
      const input = await readInput(options.arguments);
      // Who the call is for; the runtime checks the keys.
      const meta = options.meta === undefined ? undefined : readJson(options.meta, 'meta');
      return withToolRuntime(async ({ tools }) => {
        const output = await tools.call({ ...query, arguments: input, meta });
        if (output.isError) printError(output.value as unknown as Parameters<typeof printError>[0]);
        else printJson(output.value);
        return output.isError ? 1 : 0;
      });
    },
  }),
  command({
    words: 'tools refresh',
    usage: '--tenant ID [--tier TIER] [--server NAME]',
    help: 'Ask MCP servers for their tools again.',
    options: { ...COMMON, server: TEXT },
    run: (options) => {
      const query = { tenantId: readTenant(options, 'tools refresh'), tier: options.tier, server: options.server };
      return withToolRuntime(async ({ tools }) => {
        printJson(await tools.refresh(query));
        return 0;
      });
    },
  }),
];

async function readInput(given = '{}'): Promise<JsonValue> {
  return readJson(given === '-' ? await readStandardInput() : given, 'arguments');
}

function readJson(given: string, what: string): JsonValue {
  const parsed = tryParseJson(given);
  if (!parsed.ok) throw new RuntimeError('INPUT_INVALID', { issues: `${what}: not valid JSON: ${parsed.reason}` });
  return parsed.value;
}
