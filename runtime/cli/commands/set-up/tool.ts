import type { ToolChange } from '../../../admin/contract/tool';
import { readJsonOption, readStandardInput, readTenant, readWhole, readWords, UsageError } from '../../arguments';
import { command, FLAG, TENANT, TEXT, TEXTS } from '../../command';
import { withAdmin } from '../../environment';

const CHANGE = {
  name: TEXT,
  description: TEXT,
  transport: TEXT,
  endpoint: TEXT,
  'auth-header': TEXT,
  'timeout-ms': TEXT,
  schema: TEXT,
  field: TEXTS,
  tiers: TEXT,
  'mcp-tool': TEXT,
  config: TEXT,
  inactive: FLAG,
  active: FLAG,
} as const;
const USAGE =
  '[--name NAME] [--description TEXT] [--transport hook|rest|mcp|builtin|workflow] [--endpoint URL] [--auth-header TEXT|-] [--timeout-ms N] [--schema JSON|-] [--field NAME:TYPE[:DESCRIPTION]]... [--tiers TIER,...|all] [--mcp-tool NAME] [--config JSON|-] [--active|--inactive]';

type ChangeOptions = Readonly<{
  [Name in keyof typeof CHANGE]?: Name extends 'field'
    ? string[]
    : Name extends 'active' | 'inactive'
      ? boolean
      : string;
}>;

export const toolCommands = [
  command({
    words: 'tool add',
    names: ['CODE'],
    usage: `${USAGE} [--tenant ID] [--or-update]`,
    help: `Add a tool to the catalogue, and give it to a tenant; with --or-update change the one that has this code. TYPE is string, number, integer, boolean, array or object;
a name with ! behind it has to be there: --field "customer!:string:Name of the customer".`,
    options: { ...CHANGE, tenant: TENANT, 'or-update': FLAG },
    run: async (options, [code = '']) => {
      const verb = options['or-update'] === true ? 'set' : 'create';
      const tenantId = options.tenant === undefined ? undefined : readTenant(options, 'tool add');
      const tool = await readChange(code, options);
      return withAdmin((admin) => admin.tool[verb]({ ...tool, enableFor: tenantId === undefined ? [] : [tenantId] }));
    },
  }),
  command({
    words: 'tool set',
    names: ['CODE'],
    usage: USAGE,
    help: 'Change a tool of the catalogue; what is not named stays.',
    options: CHANGE,
    run: async (options, [code = '']) => {
      const tool = await readChange(code, options);
      return withAdmin((admin) => admin.tool.update(tool));
    },
  }),
  command({
    words: 'tool remove',
    names: ['CODE'],
    help: 'Delete a tool that no tenant has.',
    run: (_options, [code = '']) => withAdmin((admin) => admin.tool.delete({ code })),
  }),
  command({
    words: 'tool enable',
    names: ['CODE'],
    usage: '--tenant ID [--custom-config JSON|-]',
    help: 'Give a tenant the tool, with settings of its own.',
    options: { tenant: TENANT, 'custom-config': TEXT },
    run: async (options, [code = '']) => {
      const tenantId = readTenant(options, 'tool enable');
      const customConfig = await readJsonOption(options['custom-config'], 'custom-config');
      return withAdmin((admin) => admin.tool.enable({ tenantId, code, customConfig }));
    },
  }),
  command({
    words: 'tool disable',
    names: ['CODE'],
    usage: '--tenant ID',
    help: 'Take the tool from a tenant; its settings stay.',
    options: { tenant: TENANT },
    run: (options, [code = '']) => {
      const tenantId = readTenant(options, 'tool disable');
      return withAdmin((admin) => admin.tool.disable({ tenantId, code }));
    },
  }),
  command({
    words: 'tool limits',
    names: ['CODE'],
    usage: '--tenant ID [--daily N|none] [--permissions JSON|-|none]',
    help: "Limit a tenant's calls of the tool; docs/permissions.md has the rules.",
    options: { tenant: TENANT, daily: TEXT, permissions: TEXT },
    run: async ({ daily, permissions, ...options }, [code = '']) => {
      const tenantId = readTenant(options, 'tool limits');
      const dailyLimit = daily === 'none' ? null : readWhole(daily, 'daily');
      const rules = permissions === 'none' ? null : await readJsonOption(permissions, 'permissions');
      return withAdmin((admin) => admin.tool.setLimits({ tenantId, code, dailyLimit, permissions: rules }));
    },
  }),
];

async function readChange(code: string, options: ChangeOptions): Promise<ToolChange> {
  const { active, inactive, tiers, field } = options;
  if (active === true && inactive === true) throw new UsageError('Give --active or --inactive, not both.');
  const header = options['auth-header'];
  return {
    code,
    name: options.name,
    description: options.description,
    transport: options.transport,
    endpoint: options.endpoint,
    authHeader: header === '-' ? (await readStandardInput()).trim() : header,
    timeoutMs: readWhole(options['timeout-ms'], 'timeout-ms'),
    parametersSchema: await readJsonOption(options.schema, 'schema'),
    fields: field?.map(readField),
    allowedTiers: tiers === 'all' ? null : readWords(tiers),
    mcpTool: options['mcp-tool'],
    transportConfig: await readJsonOption(options.config, 'config'),
    isActive: active === true || (inactive === true ? false : undefined),
  };
}

/** `customer!:string:Name of the customer` */
function readField(given: string): NonNullable<ToolChange['fields']>[number] {
  const [, name, required, type, description] = /^([^:!]+)(!?):(\w+)(?::(.*))?$/s.exec(given) ?? [];
  if (name === undefined || type === undefined) throw new UsageError('--field is NAME:TYPE or NAME:TYPE:DESCRIPTION.');
  return { name, type: type as 'string', required: required === '!', description };
}
