import type { JsonObject } from '../../runtime/util/json';
import type { Workflow } from '../../runtime/workflow-migration/contract';
import { attach, node, type Part } from '../support/workflows/workflow-builder';
import { answer, openRouter, prompts, set } from '../support/workflows/workflow-parts';
import { connect } from './support/host';
import { type LoneAgent, loneAgent, shout, structuredParser } from './support/lone-agent';
import { beforeAndAfter, type MigrationWorld, type Observed, startWorld } from './support/migration';

const PROMPTS = prompts('={{ $json.message }}', 'You are a clerk.');
const MESSAGES = ['Message 1 of small', 'Message 2 of small', 'Message 3 of pro'];

let world: MigrationWorld;

beforeAll(async () => {
  world = await startWorld(await connect().catch(connect));
});
afterAll(() => world.close());

/** The same without the words around an output parser: those of the system prompt, and of the tool that takes the answer. */
function withoutWords({ requests, ...rest }: Observed): object {
  const plain = requests.map(({ system, tools, ...request }) => ({
    ...request,
    system: system.split('\n\n')[0],
    tools: tools.map((tool) => ({ ...tool, description: undefined })),
  }));
  return { ...rest, requests: plain };
}

describe('an OpenAI Functions Agent, which n8n runs as a tools agent', () => {
  const parameters = { agent: 'openAiFunctionsAgent', ...PROMPTS };

  it.each(['1', '1.1', '1.2', '1.3', '1.4', '1.5', '1.6', '1.7', '1.8', '1.9'])(
    'of version %s behaves as before',
    async (version) => {
      const { before, after } = await beforeAndAfter(world, { workflow: loneAgent({ version, parameters }) });
      expect(before.requests.map(({ user }) => user)).toEqual(MESSAGES.map((message) => [message]));
      expect(after).toEqual(before);
    },
  );

  it('behaves as before with a tool, and with its own default for the system prompt', async () => {
    const plain = { agent: 'openAiFunctionsAgent', ...prompts('={{ $json.message }}') };
    const { before, after } = await beforeAndAfter(world, {
      workflow: loneAgent({ version: '1.7', parameters: plain, tools: [shout()] }),
    });
    expect(before.requests).toHaveLength(6);
    expect(after).toEqual(before);
  });

  it('gives the same value with a parser', async () => {
    const parsed = { version: '1.7', parameters: { ...parameters, hasOutputParser: true }, ...withParser('1.3') };
    const { before, after } = await beforeAndAfter(world, { workflow: loneAgent(parsed) });
    expect(withoutWords(after)).toEqual(withoutWords(before));
  });
});

const OWN_WORDS = ' However, above all else, all responses must adhere to the format of RESPONSE FORMAT INSTRUCTIONS.';

describe('a Conversational Agent', () => {
  const conversational = (version: string, more: Partial<LoneAgent> = {}): Workflow =>
    loneAgent({ version, parameters: { agent: 'conversationalAgent', ...PROMPTS, ...more.parameters }, ...rest(more) });
  const rest = ({ parameters: _used, ...more }: Partial<LoneAgent>): Partial<LoneAgent> => more;

  it.each(['1', '1.1', '1.2', '1.3', '1.4', '1.5', '1.6', '1.7'])(
    'of version %s gives the same output; its prompts are others',
    async (version) => {
      const { before, after } = await beforeAndAfter(world, {
        workflow: conversational(version),
        allow: ['agent-kind'],
      });
      expect(after.answers).toEqual(before.answers);
      // What is the same: model, temperature, tokens; and the system prompt, but for a sentence after it.
      const settings = ({ requests }: Observed): readonly object[] =>
        requests.map(({ model, temperature, maxTokens }) => ({ model, temperature, maxTokens }));
      expect(settings(after)).toEqual(settings(before));
      expect(new Set(after.requests.map(({ system }) => system))).toEqual(new Set(['You are a clerk.']));
      expect(new Set(before.requests.map(({ system }) => system))).toEqual(new Set([`You are a clerk.${OWN_WORDS}`]));
      // What is not: the message as it is, instead of one within instructions; and no items of before.
      expect(after.requests.map(({ user }) => user)).toEqual(MESSAGES.map((message) => [message]));
      const last = before.requests.map(({ user }) => user.at(-1) ?? '');
      expect(last.every((text) => text.includes('RESPONSE FORMAT INSTRUCTIONS'))).toBe(true);
      expect(before.requests.map(({ user }) => user.length).sort()).toEqual([1, 2, 3]);
    },
  );

  it('calls the same tool: told in a text before, offered as a tool after', async () => {
    const { before, after } = await beforeAndAfter(world, {
      workflow: conversational('1.7', { tools: [shout()] }),
      allow: ['agent-kind'],
    });
    expect(after.answers).toEqual(before.answers);
    expect(before.requests).toHaveLength(6);
    expect(before.requests.flatMap(({ tools }) => tools)).toEqual([]);
    expect(after.requests.map(({ tools }) => tools)).toEqual(
      Array.from({ length: 6 }, () => [expect.objectContaining({ name: 'shout' }) as object]),
    );
  });

  it.each(['1.7', '1.8', '1.9'])('of version %s gives the same value with a parser', async (version) => {
    const parsed = { parameters: { hasOutputParser: true }, ...withParser('1.3') };
    const { before, after } = await beforeAndAfter(world, {
      workflow: conversational(version, parsed),
      allow: ['agent-kind'],
    });
    expect(values(before)).toEqual(CITIES);
    expect(after.answers).toEqual(before.answers);
  });

  it.each(['1.2', '1.3', '1.6'])('of version %s has the value under one output less', async (version) => {
    const parsed = { parameters: { hasOutputParser: true }, ...withParser('1.3') };
    const { before, after } = await beforeAndAfter(world, {
      workflow: conversational(version, parsed),
      allow: ['agent-kind', 'expressions'],
    });
    expect(values(before)).toEqual(CITIES.map((city) => `{"output":${city}}`));
    expect(values(after)).toEqual(CITIES);
  });
});

const CITIES = MESSAGES.map(() => '{"city":"Ada"}');
const values = ({ answers }: Observed): unknown => answers.Answer?.map((item) => (item as { answer?: unknown }).answer);

/** What is read of the item is the whole value. */
function withParser(version: string, parser: Part = structuredParser(version)): Pick<LoneAgent, 'parser' | 'behind'> {
  return { parser, behind: [answer('Answer', '={{ JSON.stringify($json.output) }}')] };
}

describe('a parser', () => {
  it.each([
    ['1.6', '1.2'],
    ['1.7', '1.1'],
    ['1.9', '1.3'],
    ['2', '1.2'],
    ['2.2', '1.3'],
    ['3', '1.3'],
    ['3.1', '1.3'],
  ])('of AI Agent %s and its own version %s: the same but for the words around it', async (version, own) => {
    const parameters = { ...PROMPTS, hasOutputParser: true };
    const { before, after } = await beforeAndAfter(world, {
      workflow: loneAgent({ version, parameters, ...withParser(own) }),
    });
    expect(values(before)).toEqual(CITIES);
    expect(withoutWords(after)).toEqual(withoutWords(before));
    const words = ({ requests }: Observed): string => JSON.stringify(requests[0]);
    expect(words(after)).not.toBe(words(before));
  });

  it('that gives no object around the value had it in the item itself, and has it in output', async () => {
    const parameters = { ...PROMPTS, hasOutputParser: true };
    const behind = [answer('Answer', '={{ JSON.stringify([$json.city, $json.output?.city]) }}')];
    const plain = loneAgent({ version: '3.1', parameters, parser: structuredParser('1'), behind });
    const { before, after } = await beforeAndAfter(world, { workflow: plain, allow: ['expressions'] });
    expect(values(before)).toEqual(MESSAGES.map(() => '["Ada",null]'));
    expect(values(after)).toEqual(MESSAGES.map(() => '[null,"Ada"]'));
  });

  it.each(['2.2', '3.1'])(
    'that is repaired by a model of its own, of AI Agent %s: both models are asked the same',
    async (version) => {
      const fixing: Part = node('Fixing', 'ai.outputParserAutofixing@1', { options: {} });
      const parts = [openRouter('Fixer', 'some/fixer', { temperature: 0 }), structuredParser('1.3')];
      const shape = withParser('1.3', fixing);
      const { before, after } = await beforeAndAfter(world, {
        workflow: loneAgent({
          version,
          parameters: { ...prompts('={{ $json.message }}', 'You choose the wrong form.'), hasOutputParser: true },
          ...shape,
          behind: [...(shape.behind ?? []), ...parts],
          wires: [
            ...attach('Fixer', 'ai_languageModel', ['Fixing']),
            ...attach('Parser', 'ai_outputParser', ['Fixing']),
          ],
        }),
      });
      expect(values(before)).toEqual(CITIES);
      expect(after.answers).toEqual(before.answers);
      const models = ({ requests }: Observed): readonly string[] => requests.map(({ model }) => model).sort();
      expect(models(before)).toEqual([
        ...MESSAGES.map(() => 'openai/gpt-4o-mini'),
        ...MESSAGES.map(() => 'some/fixer'),
      ]);
      expect(models(after)).toEqual(models(before));
    },
  );
});

describe('a model that fails', () => {
  /** What is kept of a failed item, whatever it is called in. */
  const failed = (name: string): Part =>
    set(name, {
      n: "={{ $('Start').item.json.n }}",
      message: '={{ $json.message }}',
      output: '={{ $json.output }}',
      error: '={{ typeof $json.error }}',
      fields: '={{ Object.keys($json).join() }}',
    });
  const FIELDS = 'n,tier,level,vip,shop,chatInput,input,chat_input,message,sessionId,error';
  const cases = ['1.7', '2.2', '3.1'].flatMap((version) => [401, 500].map((status) => [version, status] as const));
  const failing = (
    version: string,
    status: number,
    settings: JsonObject,
  ): Pick<LoneAgent, 'version' | 'parameters' | 'settings' | 'options'> => ({
    version,
    parameters: prompts('={{ $json.message }}', `Fail with ${status}`),
    settings,
    options: { maxRetries: 0 },
  });

  it.each(cases)(
    'of AI Agent %s with HTTP %i: each item goes to the error output, with its fields',
    async (version, status) => {
      const plain = loneAgent({
        ...failing(version, status, { onError: 'continueErrorOutput' }),
        behind: [answer(), failed('Failed')],
        wires: [{ from: 'AI Agent', to: 'Failed', type: 'main', output: 1, input: 0 }],
      });
      const { before, after } = await beforeAndAfter(world, { workflow: plain });
      const items = MESSAGES.map((message, index) => ({ n: index + 1, message }));
      expect(before.answers).toEqual({
        Answer: [],
        Failed: items.map((item) => ({ ...item, output: null, error: 'string', fields: FIELDS })),
      });
      expect(after.answers).toEqual(before.answers);
      expect(after.requests).toEqual(before.requests);
    },
  );

  it.each(cases)('of AI Agent %s with HTTP %i: each item goes on, without its fields', async (version, status) => {
    const plain = loneAgent({
      ...failing(version, status, { onError: 'continueRegularOutput' }),
      behind: [failed('Answer')],
    });
    const { before, after } = await beforeAndAfter(world, { workflow: plain });
    const items = MESSAGES.map((_message, index) => ({ n: index + 1, message: null }));
    expect(before.answers).toEqual({
      Answer: items.map((item) => ({ ...item, output: null, error: 'string', fields: 'error' })),
    });
    expect(after.answers).toEqual(before.answers);
    expect(after.requests).toEqual(before.requests);
  });
});
