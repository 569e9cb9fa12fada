import type { ServerResponse } from 'node:http';

import type { ICredentialDataDecryptedObject, INode, IRun, StructuredChunk } from 'n8n-workflow';

import { postgresCredential } from '../../scripts/lib/postgres-credential.mjs';
import { addTenant, addTool, createMigratedDatabase, enableTool, type TestDatabase } from '../support/servers/database';
import { type ModelServer, startModelServer, textReply, toolReply } from '../support/servers/model-server';
import { sendStream } from '../support/servers/stream-reply';
import { gate } from '../support/values/agent-fixture';
import { outputOf, runInEngine } from '../support/worlds/n8n-engine';

const TYPE = 'n8n-nodes-universal-ai-agent.universalAiAgent';
const OTHER = 'Something went wrong and I could not answer. Please try again or contact us.';

let database: TestDatabase;
let models: ModelServer;
let tenant: string;
let credentials: Record<string, ICredentialDataDecryptedObject>;

beforeAll(async () => {
  database = await createMigratedDatabase();
  models = await startModelServer();
  tenant = await addTenant(database, {
    settings: { default_tier: 'pro', tool_config: { tool_permissions: { send_mail: { decision: 'ask' } } } },
  });
  const toolId = await addTool(database, {
    code: 'send_mail',
    description: 'Send mail',
    endpoint: 'http://127.0.0.1:1',
  });
  await enableTool(database, { tenantId: tenant, toolId });
  credentials = {
    openRouterApi: { apiKey: 'sk-node', url: models.url },
    postgres: postgresCredential(database.url),
  };
});
afterAll(() => Promise.all([models.close(), database.close()]));
beforeEach(() => models.always(() => textReply('Two orders.').body));

interface ChatRun {
  readonly items?: readonly { readonly message: string; readonly tenant?: string }[];
  readonly node?: Partial<INode>;
  readonly options?: object;
  readonly onChunk?: (chunk: StructuredChunk) => Promise<void>;
}

async function chat({ items = [{ message: 'hello' }], node = {}, options = {}, onChunk }: ChatRun = {}): Promise<{
  readonly run: IRun;
  readonly chunks: readonly Told[];
  /** The same, with the pieces of each message put together: how many they are depends on the time. */
  readonly messages: readonly Told[];
}> {
  const common = { typeVersion: 4, position: [0, 0] as [number, number] };
  const agent: INode = {
    ...common,
    id: 'agent',
    name: 'Agent',
    type: TYPE,
    parameters: {
      tenantId: { __rl: true, mode: 'id', value: `={{ $json.tenant ?? "${tenant}" }}` },
      message: '={{ $json.message }}',
      options: options as never,
    },
    credentials: Object.fromEntries(Object.keys(credentials).map((name) => [name, { id: name, name }])),
    ...node,
  };
  const start: INode = { ...common, id: 'start', name: 'Items', type: 'test.items', parameters: {} };
  const chunks: StructuredChunk[] = [];
  const run = await runInEngine({
    workflow: {
      nodes: [start, agent],
      connections: { Items: { main: [[{ node: 'Agent', type: 'main', index: 0 }]] } },
    },
    items,
    credentials,
    onChunk: onChunk ?? ((chunk) => void chunks.push(chunk)),
  });
  const told = chunks.map(({ type, content, metadata }): Told => [type, metadata.itemIndex, content]);
  return { run, chunks: told, messages: told.reduce<readonly Told[]>(joinPieces, []) };
}

type Told = readonly [type: string, item: number | undefined, content: string | undefined];

function joinPieces(told: readonly Told[], [type, item, content]: Told): readonly Told[] {
  const last = told.at(-1);
  return type === 'item' && last?.[0] === 'item' && last[1] === item
    ? [...told.slice(0, -1), [type, item, `${last[2] ?? ''}${content ?? ''}`]]
    : [...told, [type, item, content]];
}

it('sends the answer to a chat that streams, as one message for each item', async () => {
  const { run, messages } = await chat({ items: [{ message: 'one' }, { message: 'two' }] });
  expect(messages).toEqual([
    ['begin', 0, undefined],
    ['item', 0, 'Two orders.'],
    ['end', 0, undefined],
    ['begin', 1, undefined],
    ['item', 1, 'Two orders.'],
    ['end', 1, undefined],
  ]);
  expect(outputOf(run, 'Agent').map(({ json }) => json.output)).toEqual(['Two orders.', 'Two orders.']);
});

it('shows the first word with the second piece at the latest', async () => {
  const { opened, open } = gate();
  const piece = (delta: object, reason: string | null = null): string =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`;
  models.script((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(piece({ content: 'The' }) + piece({ content: ' order' }));
    void opened.then(() => response.end(`${piece({ content: ' is ready.' }, 'stop')}data: [DONE]\n\n`));
  });
  const onChunk = ({ content = '' }: StructuredChunk): Promise<void> => {
    if (content.startsWith('The')) open();
    return Promise.resolve();
  };
  const { run } = await chat({ onChunk });
  expect(outputOf(run, 'Agent').map(({ json }) => json.output)).toEqual(['The order is ready.']);
});

it('sends the same if the item is the answer alone', async () => {
  const { messages } = await chat({ options: { outputDetails: 'never' } });
  expect(messages.map(([type, , content]) => [type, content])).toContainEqual(['item', 'Two orders.']);
});

const OLD = { typeVersion: 3 };

it('says that a run waits for an approval, and in version 3 for which tool', async () => {
  models.always(() => toolReply([{ name: 'send_mail', arguments: {} }]).body);
  const { chunks } = await chat();
  expect(chunks[1]).toEqual(['item', 0, 'This request needs an approval before I can continue.']);
  expect((await chat({ node: OLD })).chunks[1]).toEqual(['item', 0, expect.stringContaining('send_mail')]);
});

it('sends a sentence for the customer if a run fails and the workflow continues, and in version 3 the error', async () => {
  const items = [{ message: 'hello', tenant: '00000000-0000-4000-8000-000000000000' }];
  const goesOn = { onError: 'continueRegularOutput' } as const;
  const begun = ['begin', 0, undefined];
  expect((await chat({ items, node: goesOn })).chunks).toEqual([begun, ['error', 0, OTHER]]);
  const { chunks } = await chat({ items, node: { ...goesOn, ...OLD } });
  expect(chunks).toEqual([begun, ['error', 0, expect.stringContaining('does not exist')]]);
});

it('leaves an error that ends the execution to n8n, which sends its description: the sentence', async () => {
  const items = [{ message: 'hello', tenant: 'no uuid' }];
  const { run, chunks } = await chat({ items });
  expect(run.status).toBe('error');
  expect(chunks).toEqual([['error', 0, OTHER]]);
  // For the editor.
  expect(run.data.resultData.error?.message).toMatch(/no uuid.*Give the id.*\(TENANT_ID_INVALID\)/);
  const old = await chat({ items, node: OLD });
  expect(old.chunks).toEqual([['error', 0, expect.stringContaining('TENANT_ID_INVALID')]]);
});

it('sends nothing as a tool of another agent, which answers itself', async () => {
  const { run, chunks } = await chat({
    node: {
      type: `${TYPE}Tool`,
      parameters: { tenantId: { __rl: true, mode: 'id', value: tenant }, message: '={{ $json.message }}' },
    },
  });
  expect(outputOf(run, 'Agent')[0]?.json.output).toBe('Two orders.');
  expect(chunks).toEqual([]);
});

it('gives the answer also when the chat has gone', async () => {
  const { run } = await chat({
    onChunk: () => Promise.reject(new Error('the response is closed')),
  });
  expect(outputOf(run, 'Agent')[0]?.json.output).toBe('Two orders.');
});

describe('while the model writes', () => {
  const slowly =
    (body: unknown, delayMs = 15) =>
    (_request: unknown, response: ServerResponse) =>
      sendStream(response, body as object, { size: 300, delayMs });
  const long = 'Ada has two orders. One is shipped, the other is in production until Friday.';
  const contentsOf = (chunks: readonly (readonly [string, number | undefined, string | undefined])[]): string[] =>
    chunks.map(([type, , content]) => (type === 'item' ? (content ?? '') : `(${type})`));

  it('sends its text in several chunks of one message, and nothing twice', async () => {
    models.script(slowly(textReply(long).body));
    const { run, chunks } = await chat();
    const contents = contentsOf(chunks);
    expect([contents[0], contents.at(-1)]).toEqual(['(begin)', '(end)']);
    expect(contents.length).toBeGreaterThan(4);
    expect(contents.slice(1, -1).join('')).toBe(long);
    expect(outputOf(run, 'Agent')[0]?.json.output).toBe(long);
  });

  it('gives what is said before a tool call a message of its own, and tells of the call where it is asked to', async () => {
    const asking = toolReply([{ name: 'send_fax', arguments: {} }]).body as { choices: { message: object }[] };
    Object.assign(asking.choices[0]?.message ?? {}, { content: 'Let me see what there is.' });
    models.script(slowly(asking, 0), slowly(textReply(long).body, 0));
    const { chunks } = await chat({ options: { streamToolProgress: true } });
    const text = contentsOf(chunks).join('');
    expect(text).toBe(`(begin)Let me see what there is.(end)(begin)Calling send_fax …(end)(begin)${long}(end)`);
  });

  it('sends the answer as a whole where streaming is turned off', async () => {
    models.script(textReply(long));
    const { chunks } = await chat({ options: { enableStreaming: false } });
    expect(contentsOf(chunks)).toEqual(['(begin)', long, '(end)']);
    expect(models.received.at(-1)).not.toHaveProperty('stream');
  });

  it('ends a message that breaks off, and says why', async () => {
    models.script((_request, response) =>
      sendStream(response, textReply(long).body as object, { until: 1500, delayMs: 5 }),
    );
    const { chunks } = await chat({ node: { onError: 'continueRegularOutput' } });
    const contents = contentsOf(chunks);
    expect(contents.slice(-3)).toEqual(['(end)', '(begin)', '(error)']);
    expect(long.startsWith(contents.slice(1, -3).join(''))).toBe(true);
  });
});
