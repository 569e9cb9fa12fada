import type { ICredentialDataDecryptedObject, INode, INodeParameters, IRun } from 'n8n-workflow';
import { z } from 'zod';

import { postgresCredential } from '../../scripts/lib/postgres-credential.mjs';
import { addTenant, createMigratedDatabase, type TestDatabase } from '../support/database';
import { startModelServer, textReply, toolReply, type ModelServer } from '../support/model-server';
import { outputOf, runInEngine } from '../support/n8n-engine';
import { subNodeType, wired } from '../support/sub-nodes';

const TYPE = 'n8n-nodes-universal-ai-agent.universalAiAgent';
const TOOL = 'format_final_json_response';
const PERSON = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };

let database: TestDatabase;
let models: ModelServer;
let tenant: string;
let credentials: Record<string, ICredentialDataDecryptedObject>;

beforeAll(async () => {
  database = await createMigratedDatabase();
  models = await startModelServer();
  tenant = await addTenant(database);
  credentials = {
    openRouterApi: { apiKey: 'sk-node', url: models.url },
    postgres: { ...postgresCredential(database.url), maxConnections: 100 },
  };
});
afterAll(() => Promise.all([models.close(), database.close()]));
beforeEach(() => {
  models.received.length = 0;
});

interface FormatRun {
  readonly parameters?: INodeParameters;
  readonly parser?: object;
  readonly node?: Partial<INode>;
}

function run({ parameters = {}, parser, node = {} }: FormatRun): Promise<IRun> {
  const agent: INode = {
    id: 'agent-node',
    name: 'Agent',
    type: TYPE,
    typeVersion: 1,
    position: [0, 0],
    parameters: {
      tenantId: { __rl: true, mode: 'id', value: tenant },
      tier: 'pro',
      systemPrompt: 'Be kind.',
      message: 'Who?',
      hasOutputParser: true,
      ...parameters,
    },
    credentials: { openRouterApi: { id: '1', name: 'a' }, postgres: { id: '2', name: 'b' } },
    ...node,
  };
  const wires =
    parser === undefined ? [] : [{ name: 'Parser', type: 'test.parser', output: 'ai_outputParser' as const }];
  const nodeTypes = { 'test.parser': subNodeType('ai_outputParser', () => parser) };
  return runInEngine({ workflow: wired(agent, wires), items: [{}], credentials, nodeTypes });
}

const first = (ran: IRun, output = 0) => outputOf(ran, 'Agent', output)[0]?.json;
const answered = (given: unknown) => toolReply([{ name: TOOL, arguments: given }]);
const outputSchema = JSON.stringify(PERSON);

/** What n8n's structured parser gives: the answer stands under `output`, and its error goes through the third argument. */
function structuredParser(schema = z.object({ output: z.object({ name: z.string() }) })) {
  const texts: string[] = [];
  const parse = async (text: string, _callbacks: unknown, mapError: (error: unknown) => Error): Promise<unknown> => {
    texts.push(text);
    try {
      return await schema.parseAsync(JSON.parse(text));
    } catch (error) {
      throw mapError(error);
    }
  };
  return { parse, getSchema: () => schema, getFormatInstructions: () => '', texts };
}

describe('a JSON Schema', () => {
  it('gives the value as output, and asks for it through a tool', async () => {
    models.script(answered({ name: 'Ann' }));
    expect(first(await run({ parameters: { outputSchema } }))).toMatchObject({
      output: { name: 'Ann' },
      structured_output: { name: 'Ann' },
      result: { text: '{"name":"Ann"}', tool_calls: [] },
    });
    const [sent] = models.received;
    expect(sent?.tools?.at(-1)?.function).toMatchObject({ name: TOOL, parameters: PERSON });
    expect(sent?.messages[0]?.content).toMatch(
      /^Be kind\.\n\nYour final answer must be a call of the tool format_final_json_response/,
    );
  });

  it('may be an object of an expression', async () => {
    models.script(textReply('{"name":"Ann"}'));
    const ran = await run({ parameters: { outputSchema: '={{ ({ type: "object", required: ["name"] }) }}' } });
    expect(first(ran)?.output).toEqual({ name: 'Ann' });
  });

  it('has a wrong answer asked for once more, then the item fails with it', async () => {
    models.script(answered({ nam: 'Ann' }), answered({ name: 'Ann' }));
    expect(first(await run({ parameters: { outputSchema } }))).toMatchObject({
      output: { name: 'Ann' },
      iterations: 2,
    });
    expect(models.received[1]?.messages.at(-1)?.content).toContain("must have required property 'name'");

    models.script(textReply('Ann'), textReply('Ann!'));
    const failed = first(await run({ parameters: { outputSchema }, node: { onError: 'continueErrorOutput' } }), 1);
    expect(failed).toMatchObject({ error: { code: 'OUTPUT_INVALID' }, result: { text: 'Ann!' }, iterations: 2 });
  });

  it('is what counts beside a connected parser', async () => {
    const parser = structuredParser();
    models.script(answered({ name: 'Ann' }));
    expect(first(await run({ parameters: { outputSchema }, parser }))?.output).toEqual({ name: 'Ann' });
    expect(parser.texts).toEqual([]);
  });

  it('works as a tool of another agent too', async () => {
    models.script(answered({ name: 'Ann' }));
    const ran = await run({ parameters: { outputSchema }, node: { type: `${TYPE}Tool` } });
    expect(first(ran)?.output).toEqual({ name: 'Ann' });
  });
});

describe('a connected parser', () => {
  it('shows its schema and gives what stands under output', async () => {
    const parser = structuredParser();
    models.script(answered({ output: { name: 'Ann' } }));
    expect(first(await run({ parser }))).toMatchObject({ output: { name: 'Ann' }, structured_output: { name: 'Ann' } });
    expect(models.received[0]?.tools?.at(-1)?.function.parameters).toMatchObject({
      type: 'object',
      properties: { output: { type: 'object', properties: { name: { type: 'string' } } } },
    });
    expect(parser.texts).toEqual(['{"output":{"name":"Ann"}}']);
  });

  it('is given a text as if it stood under output', async () => {
    const parser = structuredParser();
    models.script(textReply('{"name":"Ann"}'));
    expect(first(await run({ parser }))?.output).toEqual({ name: 'Ann' });
    expect(parser.texts).toEqual(['{"output":{"name":"Ann"}}']);
  });

  it('tells the model what is wrong, in the words of its schema', async () => {
    models.script(answered({ output: { name: 7 } }), answered({ output: { name: 'Ann' } }));
    expect(first(await run({ parser: structuredParser() }))?.output).toEqual({ name: 'Ann' });
    expect(models.received[1]?.messages.at(-1)?.content).toContain('output.name: Expected string, received number');
  });

  it('without a schema reads the text of the answer', async () => {
    const parse = (text: string): Promise<string[]> => Promise.resolve(text.split('\n'));
    const parser = { parse, getSchema: () => undefined, getFormatInstructions: () => 'One a line.' };
    models.script(answered({ text: 'a\nb' }));
    expect(first(await run({ parser }))?.output).toEqual(['a', 'b']);
    expect(models.received[0]?.messages[0]?.content).toMatch(/One a line\.$/);
    models.script(textReply('c\nd'));
    expect(first(await run({ parser }))?.output).toEqual(['c', 'd']);
  });

  it('is not asked as long as no format is required', async () => {
    models.script(textReply('Ann'));
    const ran = await run({ parser: structuredParser(), parameters: { hasOutputParser: false } });
    expect(first(ran)?.output).toBe('Ann');
    expect(models.received[0]).not.toHaveProperty('tools');
  });
});

it.each([
  ['nothing', {}],
  ['a schema that is none', { parameters: { outputSchema: '{ "type": ' } }],
  ['what is no parser', { parser: {} }],
])('%s to go by is refused before a model is asked', async (_what, given: FormatRun) => {
  const { error } = (await run(given)).data.resultData;
  expect(error).toMatchObject({ description: expect.stringContaining('(OUTPUT_FORMAT_INVALID)') as unknown });
  expect(models.received).toEqual([]);
});
