import * as z from 'zod/v4';

import { OPERATIONS } from '../../../runtime/admin/operations';
import { UsageError } from '../../../runtime/cli/arguments';
import { findCommand } from '../../../runtime/cli/command';
import { allGroups } from '../../../runtime/cli/main';
import { commandWords, flagsOf, optionOf, usageOf } from '../../../runtime/cli/operations/flags';
import { readFlags } from '../../../runtime/cli/operations/read-flags';
import { FLAG_WORDS } from '../../../runtime/cli/operations/words.generated';
import { runCli } from '../../support/worlds/cli';

const ID = '3f2b8c1e-5d4a-4c6b-9e7f-0a1b2c3d4e5f';
const INPUT = z.strictObject({
  tenantId: z.uuid().meta({ tenant: true }),
  code: z.string(),
  kind: z.enum(['stone', 'soft']).optional(),
  cacheWrite1hPer1M: z.string().optional(),
  isFree: z.boolean().optional(),
  rank: z.int().nullish(),
  share: z.number().optional(),
  allowedTiers: z.array(z.string()).nullish().meta({ none: 'all' }),
  by: z.array(z.enum(['day', 'tier'])).optional(),
  models: z.record(z.string(), z.string()).optional(),
  tables: z.array(z.string()).optional().meta({ whole: true }),
  context: z.unknown().optional().meta({ any: true }),
  overwrite: z.union([z.literal('all'), z.array(z.string())]).optional(),
  fields: z.array(z.strictObject({ name: z.string(), type: z.string() })).optional(),
  settings: z.custom<object>().optional(),
  password: z.string().meta({ secret: true }).optional(),
});
const FLAGS = flagsOf(INPUT);
const read = (options: Parameters<typeof readFlags>[0]['options'], ...names: string[]): Promise<unknown> =>
  readFlags({ words: 'fruit set', flags: FLAGS, options: { tenant: 'T', ...options }, names });

it('calls each key as its words say', () => {
  expect(FLAGS.map(({ name }) => name)).toEqual([
    'tenant',
    'code',
    'kind',
    'cache-write-1h-per-1m',
    'free',
    'rank',
    'share',
    'allowed-tiers',
    'by',
    'models',
    'tables',
    'context',
    'overwrite',
    'fields',
    'settings',
    'password',
  ]);
  expect(usageOf('mcpServer.setIt', INPUT)).toBe('mcp-server set-it CODE --tenant TENANT [options]');
  expect(commandWords('run.list')).toBe('runs list');
});

it.each<[string, Parameters<typeof read>[0], unknown]>([
  ['a word', { kind: 'soft' }, { kind: 'soft' }],
  ['yes and no', { free: false }, { isFree: false }],
  ['numbers', { rank: '7', share: '0.5' }, { rank: 7, share: 0.5 }],
  ['nothing', { rank: 'none', 'allowed-tiers': ['all'] }, { rank: null, allowedTiers: null }],
  [
    'lists',
    { 'allowed-tiers': ['a, b', 'c'], overwrite: ['a/b'], by: ['day,tier', 'day'] },
    { allowedTiers: ['a', 'b', 'c'], overwrite: ['a/b'], by: ['day', 'tier', 'day'] },
  ],
  ['a word in place of a list', { overwrite: ['all'] }, { overwrite: 'all' }],
  ['an object', { settings: ['{"a":[1]}'] }, { settings: { a: [1] } }],
  [
    'an object in pairs',
    { settings: ['a=1', 'b=x=y', 'c=', 'd=null', 'e=5'] },
    { settings: { a: 1, b: 'x=y', c: '', d: null, e: 5 } },
  ],
  [
    'objects and pairs together, the last one first',
    { settings: ['{"a":1,"b":1}', 'b=2', '{"__proto__":3}'] },
    { settings: JSON.parse('{"a":1,"b":2,"__proto__":3}') as object },
  ],
  ['names with commas', { tables: ['a, b', 'c'] }, { tables: ['a, b', 'c'] }],
  ['any JSON', { context: '[1,{"a":2}]' }, { context: [1, { a: 2 }] }],
  ['any text', { context: 'a = b' }, { context: 'a = b' }],
  ['texts that look like numbers', { models: ['a=7'] }, { models: { a: '7' } }],
  ['a field as JSON', { fields: ['{"name":"n","type":"string"}'] }, { fields: [{ name: 'n', type: 'string' }] }],
  [
    'fields',
    { fields: ['customer!:string:Name: the customer', 'n:number'] },
    {
      fields: [
        { name: 'customer', type: 'string', required: true, description: 'Name: the customer' },
        { name: 'n', type: 'number', required: false },
      ],
    },
  ],
])('reads %s', async (_what, options, expected) => {
  expect(await read(options, 'plum')).toEqual({ tenantId: 'T', code: 'plum', ...(expected as object) });
});

it('takes what has to be there with its option, too', async () => {
  expect(await read({ code: 'plum' })).toEqual({ tenantId: 'T', code: 'plum' });
});

it.each<[string, Parameters<typeof read>[0], string[], string]>([
  ['nothing', { tenant: undefined }, [], 'fruit set needs --tenant TENANT and CODE.'],
  ['too many names', {}, ['plum', 'sk-secret'], 'fruit set takes CODE.'],
  ['a name beside its option', { code: 'plum' }, ['sk-secret'], 'fruit set takes CODE.'],
  ['another word', { kind: 'sk-secret' }, ['plum'], '--kind is one of: stone, soft.'],
  ['a part as a whole number', { rank: '1.5' }, ['plum'], '--rank is not a whole number.'],
  ['words as a number', { share: 'sk-secret' }, ['plum'], '--share is not a number.'],
  ['other JSON than an object', { settings: ['{"a":sk-secret'] }, ['plum'], '--settings is not a JSON object.'],
  ['null beside a value', { 'allowed-tiers': ['all', 'pro'] }, ['plum'], '--allowed-tiers all cannot be combined'],
  ['no pair', { settings: ['sk-secret'] }, ['plum'], '--settings is a JSON object, - for one'],
  ['a field without a type', { fields: ['customer'] }, ['plum'], '--fields is NAME:TYPE'],
  ['a secret that everybody sees', { password: 'sk-secret' }, ['plum'], '--password accepts only "-"'],
])('refuses %s, and repeats none of it', async (...[, options, names, words]) => {
  const error: unknown = await read(options, ...names).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(UsageError);
  expect((error as Error).message).toContain(words);
  expect((error as Error).message).not.toContain('sk-secret');
});

it('takes standard input once, also as the value of a pair, and says nothing of it', async () => {
  const env = { DATABASE_URL: 'postgres://u:p@127.0.0.1:1/db' };
  const add = (auth: string[], input: string) =>
    runCli(
      [
        'mcp-server',
        'add',
        'shop',
        'https://mcp.example.com',
        '--tenant',
        ID,
        ...auth.flatMap((one) => ['--auth', one]),
      ],
      { env, input },
    );
  const broken = await add(['-'], 'sk-secret');
  expect(broken).toMatchObject({ exitCode: 2, stderr: '--auth is not a JSON object.\n' });
  expect((await add(['-', 'token=-'], '{}')).stderr).toContain('Only one value can be read from standard input');
  expect((await add(['kind=bearer', 'token=-'], 'sk-secret\n')).stderr).toContain('DB_UNREACHABLE');
});

it('needs a key for the model where it asks one, before the decision is made', async () => {
  const env = { DATABASE_URL: 'postgres://u:p@127.0.0.1:1/db', OPENROUTER_BASE_URL: 'not a url' };
  const outcome = await runCli(['approval', 'decide', ID, 'approve', '--tenant', ID], { env });
  expect(outcome).toMatchObject({ exitCode: 2, stderr: 'The environment variable OPENROUTER_API_KEY is not set.\n' });
  expect((await runCli(['tenant', 'list'], { env })).stderr).toContain('DB_UNREACHABLE');
  expect((await runCli(['tenant', 'get', '--tenant', ''], { env })).stderr).toBe('--tenant is empty.\n');
});

it('runs a task of its options, which needs no message where it decides on a call', async () => {
  const env = { DATABASE_URL: 'postgres://u:p@127.0.0.1:1/db', OPENROUTER_API_KEY: 'k' };
  const ofTenant = ['run', '--tenant', ID];
  const decided = await runCli([...ofTenant, '--approval', `run_id=${ID}`, '--approval', 'decision=approve'], { env });
  expect(decided.stderr).toContain('DB_UNREACHABLE');
  expect((await runCli([...ofTenant, '--max-iterations', '0', '--message', 'Hi'], { env })).stderr).toContain(
    'config.max_iterations',
  );
  expect(await runCli([...ofTenant, '--task', '-'], { env, input: '{}' })).toMatchObject({ exitCode: 2 });
});

it('reads a secret that has to be there from standard input alone', async () => {
  const env = { DATABASE_URL: 'postgres://u:p@127.0.0.1:1/db' };
  const outcome = await runCli(['secret', 'set', 'CRM', '--shared'], { env, input: Buffer.from([255]) });
  expect(outcome).toMatchObject({ exitCode: 2, stderr: 'Standard input is not UTF-8 text.\n' });
  expect((await runCli(['secret', 'set', '--help'])).stdout).not.toContain('--value');
});

it('every operation has a command, whose words the public types give', async () => {
  const commands = (await allGroups()).flatMap(({ commands: own }) => own);
  for (const { name, input } of OPERATIONS) {
    const words = commandWords(name);
    expect(findCommand(commands, words.split(' ')).command.usage).toBe(usageOf(name, input));
    const keys = flagsOf(input).map(({ key }) => key);
    expect([name, Object.keys(FLAG_WORDS[name] ?? {}).filter((key) => !keys.includes(key))]).toEqual([name, []]);
  }
});

it('tells of an option what the types say, and what takes it away', () => {
  const [tenant, , , , , rank] = FLAGS;
  expect(tenant && optionOf(tenant)).toMatchObject({ value: 'TENANT', tenant: true });
  expect(rank && optionOf(rank, 'Its place')).toMatchObject({ value: 'N', help: 'Its place; none is null' });
});
