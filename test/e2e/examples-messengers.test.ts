import { startN8n } from '../../scripts/lib/n8n-host.mjs';
import { addTenant, createDatabase, createMigratedDatabase, type TestDatabase } from '../support/servers/database';
import { type ModelServer, startModelServer, textReply } from '../support/servers/model-server';
import { eventually } from '../support/values/agent-fixture';
import { createTable } from './support/data-tables';
import { type Examples, examplesIn } from './support/examples';
import { addModelCredential, addPostgresCredential, type Credential, ended, type N8n } from './support/host';
import { type Messengers, slackHeaders, startMessengers, toMessage } from './support/messengers';

const SIGNING_SECRET = 'secret of the Slack app';

let own: TestDatabase;
let database: TestDatabase;
let models: ModelServer;
let messengers: Messengers;
let host: Awaited<ReturnType<typeof startN8n>>;
let n8n: N8n;
let examples: Examples;
let tenants: { readonly slack: string; readonly discord: string; readonly otherOfDiscord: string };

beforeAll(async () => {
  [own, database] = await Promise.all([createDatabase(), createMigratedDatabase()]);
  [models, messengers] = await Promise.all([startModelServer(), startMessengers()]);
  const { packageTarball } = JSON.parse(process.env.TEST_N8N ?? '{}') as { packageTarball: string };
  host = await startN8n({ postgresUrl: own.url, packageTarball, env: messengers.env, log: () => undefined });
  n8n = host as unknown as N8n;
  const credential = async (type: string, data: Record<string, string>): Promise<Credential> => ({
    id: await n8n.createCredential({ name: type, type, data }),
    name: type,
  });
  examples = examplesIn(n8n, {
    openRouterApi: await addModelCredential(n8n, { apiKey: 'sk-or-messengers', url: models.url }),
    postgres: await addPostgresCredential(n8n, database.url),
    slackApi: await credential('slackApi', { accessToken: 'xoxb-1', signatureSecret: SIGNING_SECRET }),
    discordBotApi: await credential('discordBotApi', { botToken: 'discord-1' }),
  });
  const settings = { default_tier: 'pro' };
  tenants = {
    slack: await addTenant(database, { settings }),
    discord: await addTenant(database, { settings }),
    otherOfDiscord: await addTenant(database, { settings }),
  };
  const rows = [
    { app: 'slack', channel: 'C1', server: '', tenant_id: tenants.slack },
    { app: 'discord', channel: '4711', server: '1', tenant_id: tenants.discord },
    { app: 'discord', channel: '4712', server: '2', tenant_id: tenants.otherOfDiscord },
  ];
  await createTable(n8n, { name: 'tenant_channels', columns: ['app', 'channel', 'server', 'tenant_id'], rows });
});
afterAll(async () => {
  await host.stop();
  await Promise.all([models.close(), messengers.close(), own.close(), database.close()]);
});
beforeEach(() => {
  models.received.length = 0;
  models.always(({ messages }) => textReply(`answer to "${messages.at(-1)?.content ?? ''}"`).body);
});

/** The people and channels on the bill of a tenant, oldest first. */
const billed = (tenant: string): Promise<object[]> =>
  database.query(
    'SELECT run_user_id AS user, run_dialog_id AS channel FROM elo_t_token_usage WHERE tenant_id = $1 ORDER BY id',
    [tenant],
  );

it('slack.json answers a mention in its thread for the tenant of the channel, and no other channel', async () => {
  // As Slack documents it: the workspace stands outside the event.
  const mention = (channel: string, event: object): object => ({
    type: 'event_callback',
    team_id: 'T1',
    event: { type: 'app_mention', user: 'U1', channel, ...event },
  });
  await examples.whilePublished('slack.json', {
    use: async (id) => {
      const post = async (event: object, secret = SIGNING_SECRET): Promise<number> =>
        (
          await n8n.callWebhook('7d1f6a52-1c53-4b8a-9d7e-00000000000a/webhook', event, {
            headers: slackHeaders(event, secret),
          })
        ).status;
      const haveEnded = (count: number): Promise<true> =>
        eventually(async () => {
          const statuses = ((await n8n.executions(id)) as { status: string }[]).map(({ status }) => status);
          return statuses.length === count && statuses.every((status) => status === 'success') ? true : undefined;
        });
      const question = mention('C1', { text: '<@U99> Which tyres?', ts: '1.1' });
      expect(await post(question, 'a guessed secret')).toBe(401);
      expect(await post(mention('C666', { text: '<@U99> a stranger', ts: '6.6' }))).toBe(200);
      await haveEnded(1);
      expect(await post(question)).toBe(200);
      await haveEnded(2);
      expect(await post(mention('C1', { text: '<@U99> And tubes?', ts: '1.2', thread_ts: '1.1' }))).toBe(200);
      await haveEnded(3);
    },
  });
  const reply = { authorization: 'Bearer xoxb-1', path: 'slack.com/api/chat.postMessage' };
  expect(messengers.posted).toMatchObject([
    { ...reply, body: { channel: 'C1', thread_ts: '1.1', text: 'answer to "Which tyres?"' } },
    { ...reply, body: { channel: 'C1', thread_ts: '1.1', text: 'answer to "And tubes?"' } },
  ]);
  const asked = models.received.map(({ messages }) => messages.filter(({ role }) => role === 'user'));
  expect(asked.map((messages) => messages.map(({ content }) => content))).toEqual([
    ['Which tyres?'],
    ['Which tyres?', 'And tubes?'],
  ]);
  expect(await billed(tenants.slack)).toEqual(Array.from({ length: 2 }, () => ({ user: 'U1', channel: 'C1' })));
});

it('discord.json answers each new message once, for the tenant of its channel', async () => {
  const { discord, posted } = messengers;
  const write = (channel: string, content: string, more: object = {}): void => {
    const author = { id: `person-in-${channel}` };
    discord.push(toMessage(discord, { channel_id: channel, content, author, ...more }));
  };
  write('4711', 'too old', { minutesAgo: 10 });
  write('4711', 'another bot', { author: { id: '7', bot: true } });
  write('4711', 'Which tyres?');
  write('4712', 'Which tubes?');
  write('666', 'a stranger');
  const before = posted.length;
  const id = await examples.load('discord.json');
  const look = async (): Promise<void> => {
    const { status, data } = await ended(n8n, await n8n.runManually(id, 'Every Minute'));
    expect([status, data.resultData.error?.message]).toEqual(['success', undefined]);
  };
  await look();
  await look();
  write('4711', 'And pumps?');
  await look();
  const to = (channel: string): object => ({
    authorization: 'Bot discord-1',
    path: `discord.com/api/v10/channels/${channel}/messages`,
  });
  expect(posted.slice(before)).toMatchObject([
    { ...to('4711'), body: { content: 'answer to "Which tyres?"' } },
    { ...to('4712'), body: { content: 'answer to "Which tubes?"' } },
    { ...to('4711'), body: { content: 'answer to "And pumps?"' } },
  ]);
  expect(models.received).toHaveLength(3);
  const person = { user: 'person-in-4711', channel: '4711' };
  expect(await billed(tenants.discord)).toEqual([person, person]);
  expect(await billed(tenants.otherOfDiscord)).toEqual([{ user: 'person-in-4712', channel: '4712' }]);
});
