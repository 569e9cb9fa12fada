import type { JsonObject } from '../../../util/json';
import { readJsonOption, readTenant, readWhole } from '../../arguments';
import { command, FLAG, TENANT, TEXT, TEXTS } from '../../command';
import { withAdmin } from '../../environment';

/** Options that stand for one setting each; the rest come with --settings. */
const SETTINGS = {
  'default-tier': TEXT,
  'max-tier': TEXT,
  'max-iterations': TEXT,
  'monthly-cost-limit-usd': TEXT,
  'monthly-token-limit': TEXT,
  'runs-per-minute': TEXT,
} as const;
const USAGE =
  '[--default-tier TIER] [--max-tier TIER] [--max-iterations N] [--monthly-cost-limit-usd USD] [--monthly-token-limit N] [--runs-per-minute N] [--settings JSON|-]';

type SettingOptions = Readonly<Partial<Record<keyof typeof SETTINGS | 'settings', string>>>;

export const tenantCommands = [
  command({
    words: 'tenant list',
    usage: '[--filter TEXT] [--inactive] [--limit N] [--after NEXT]',
    help: 'The tenants by name, with what they spent this month; --after takes next of the page before.',
    options: { filter: TEXT, inactive: FLAG, limit: TEXT, after: TEXT },
    run: ({ filter, inactive, limit, after }) => {
      const query = { filter, after, limit: readWhole(limit, 'limit'), ...(inactive === true && { active: false }) };
      return withAdmin(({ tenant }) => tenant.list(query));
    },
  }),
  command({
    words: 'tenant get',
    usage: '--tenant ID',
    help: 'One tenant and its settings.',
    options: { tenant: TENANT },
    run: (options) => {
      const tenantId = readTenant(options, 'tenant get');
      return withAdmin(({ tenant }) => tenant.get({ tenantId }));
    },
  }),
  command({
    words: 'tenant add',
    names: ['NAME'],
    usage: `[--id UUID] [--tool CODE]... [--or-update] ${USAGE}`,
    help: 'Add a tenant, and give it tools; with --or-update change the one that has this ID or name.',
    options: { ...SETTINGS, settings: TEXT, id: TEXT, tool: TEXTS, 'or-update': FLAG },
    run: async (options, [name = '']) => {
      const verb = options['or-update'] === true ? 'set' : 'create';
      const settings = await readSettings(options);
      return withAdmin(({ tenant }) => tenant[verb]({ name, id: options.id, settings, tools: options.tool }));
    },
  }),
  command({
    words: 'tenant set',
    usage: `--tenant ID [--name NAME] ${USAGE}`,
    help: 'Change a tenant. An option without a text, or null in --settings, takes the setting away.',
    options: { ...SETTINGS, settings: TEXT, tenant: TENANT, name: TEXT },
    run: async (options) => {
      const tenantId = readTenant(options, 'tenant set');
      const settings = await readSettings(options);
      return withAdmin(({ tenant }) => tenant.update({ tenantId, name: options.name, settings }));
    },
  }),
  ...(['deactivate', 'activate'] as const).map((verb) =>
    command({
      words: `tenant ${verb}`,
      usage: '--tenant ID',
      help: verb === 'activate' ? 'Reactivate the tenant.' : 'Stop its runs and keep its data.',
      options: { tenant: TENANT },
      run: (options) => {
        const tenantId = readTenant(options, `tenant ${verb}`);
        return withAdmin(({ tenant }) => tenant[verb]({ tenantId }));
      },
    }),
  ),
  command({
    words: 'tenant remove',
    usage: '--tenant ID',
    help: 'Delete a tenant that is not active, with its tools, secrets, runs and bill.',
    options: { tenant: TENANT },
    run: (options) => {
      const tenantId = readTenant(options, 'tenant remove');
      return withAdmin(({ tenant }) => tenant.delete({ tenantId }));
    },
  }),
];

/** Undefined where nothing is said of any setting. */
async function readSettings({ settings, ...options }: SettingOptions): Promise<JsonObject | undefined> {
  const given = Object.keys(SETTINGS).flatMap((option) => {
    const value = options[option as keyof typeof SETTINGS];
    return value === undefined ? [] : [[option.replaceAll('-', '_'), toSetting(option, value)] as const];
  });
  const whole = await readJsonOption(settings, 'settings');
  return given.length === 0 && whole === undefined ? undefined : { ...whole, ...Object.fromEntries(given) };
}

function toSetting(option: string, value: string): string | number | null {
  if (value === '') return null;
  return option === 'max-iterations' ? (readWhole(value, option) ?? null) : value;
}
