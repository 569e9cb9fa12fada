import * as z from 'zod/v4';

import { OPERATIONS } from '../../../runtime/admin/operations';
import { UsageError } from '../../../runtime/cli/arguments';
import { findCommand } from '../../../runtime/cli/command';
import { allGroups } from '../../../runtime/cli/main';
import { commandWords, flagsOf, optionOf, usageOf } from '../../../runtime/cli/operations/flags';
import { readFlags } from '../../../runtime/cli/operations/read-flags';
import { FLAG_WORDS } from '../../../runtime/cli/operations/words.generated';
import { runCli } from '../../support/worlds/cli';

const INPUT = z.strictObject({
  tenantId: z.uuid().meta({ tenant: true }),
  code: z.string(),
  kind: z.enum(['stone', 'soft']).optional(),
  cacheWrite1hPer1M: z.string().optional(),
  isFree: z.boolean().optional(),
  rank: z.int().nullish(),
  share: z.number().optional(),
  allowedTiers: z.array(z.string()).nullish(),
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
  ['nothing', { rank: 'none', 'allowed-tiers': ['none'] }, { rank: null, allowedTiers: null }],
  [
    'lists',
    { 'allowed-tiers': ['a, b', 'c'], overwrite: ['a/b'] },
    { allowedTiers: ['a', 'b', 'c'], overwrite: ['a/b'] },
  ],
  ['a word in place of a list', { overwrite: ['all'] }, { overwrite: 'all' }],
  ['an object', { settings: ['{"a":[1]}'] }, { settings: { a: [1] } }],
  [
    'an object in pairs',
    { settings: ['a=1', 'b=x=y', 'c=', 'd=null', 'e=5'] },
    { settings: { a: 1, b: 'x=y', c: '', d: null, e: 5 } },
  ],
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
  ['other JSON than an object', { settings: ['{"a'] }, ['plum'], '--settings is not a JSON object: '],
  ['no pair', { settings: ['sk-secret'] }, ['plum'], '--settings is a JSON object, - for one'],
  ['a field without a type', { fields: ['customer'] }, ['plum'], '--fields is NAME:TYPE'],
  ['a secret that everybody sees', { password: 'sk-secret' }, ['plum'], '--password takes only -'],
])('refuses %s, and repeats none of it', async (...[, options, names, words]) => {
  const error: unknown = await read(options, ...names).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(UsageError);
  expect((error as Error).message).toContain(words);
  expect((error as Error).message).not.toContain('sk-secret');
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
  expect(rank && optionOf(rank, 'Its place')).toMatchObject({ value: 'N', help: 'Its place; none takes it away' });
});
