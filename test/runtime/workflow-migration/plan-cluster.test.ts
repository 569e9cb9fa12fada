import type { JsonObject } from '../../../runtime/util/json';
import { attach, node, type Part } from '../../support/workflows/workflow-builder';
import { agentNode, migrated, model, modelNode, newNode, reasons, switched } from './a-cluster';

const two = (small: JsonObject, pro: JsonObject): ReturnType<typeof switched> =>
  switched({ small: { agent: { parameters: small } }, pro: { agent: { parameters: pro } } });

describe('tiers', () => {
  it('are one of the five only where model, temperature and tokens are all the same', () => {
    const input = switched({
      a: model('qwen/qwen3-8b', { temperature: 0.2, maxTokens: 800 }),
      b: model('qwen/qwen3-8b', { temperature: 0.2 }),
    });
    const { report, sql } = migrated(input);
    expect(report.clusters[0]?.tiers).toMatchObject([
      { code: 'small', isNew: false },
      { model: 'qwen/qwen3-8b', isNew: true },
    ]);
    expect(sql).toContain(`'qwen/qwen3-8b', NULL, 0.2)`);
  });

  it('have a code of at most 20 characters, shared by branches that are the same', () => {
    const input = switched({ a: model('x/y'), b: model('x/y'), c: model('x/z') });
    const tiers =
      migrated({ ...input, name: 'Заявки — a very long name of a workflow' }).report.clusters[0]?.tiers ?? [];
    expect(tiers[0]?.code).toBe(tiers[1]?.code);
    expect(new Set(tiers.map(({ code }) => code)).size).toBe(2);
    expect(tiers.every(({ code }) => /^[a-z0-9_]{1,20}$/.test(code))).toBe(true);
  });

  it('leave what a row cannot hold to the options of the node', () => {
    const input = switched({ a: model('x/y', { temperature: '={{ $json.t }}' }), b: model('x/z') });
    expect(newNode(input).parameters.options).toMatchObject({
      temperature: "={{ $json.tier === 'a' ? $json.t : undefined }}",
    });
  });

  it('have no limit of tokens where the model has none', () => {
    const input = switched({ a: model('x/y', { maxTokens: -1 }), b: model('x/z') });
    expect(newNode(input).parameters.options).not.toHaveProperty('maxTokens');
    expect(migrated(input).sql).toContain(`'x/y', NULL, NULL)`);
  });

  it('leave a number that a row may not hold to the options of the node', () => {
    const input = switched({ a: model('x/y', { temperature: 2.5, maxTokens: 1.5 }), b: model('x/z') });
    expect(newNode(input).parameters.options).toMatchObject({
      temperature: "={{ $json.tier === 'a' ? 2.5 : undefined }}",
      maxTokens: "={{ $json.tier === 'a' ? 1.5 : undefined }}",
    });
    expect(migrated(input).sql).toContain(`'x/y', NULL, NULL)`);
  });

  it('are asked for when options are lost', () => {
    const input = switched({ a: model('x/y', { topP: 0.5 }), b: model('x/z', { topP: 1 }) });
    expect(reasons(input)).toEqual(['model-options:dropped-options']);
    expect(newNode(input, { allow: ['dropped-options'] }).parameters.tier).toContain('$json.tier');
  });

  it('need one provider and one credential', () => {
    const other = {
      type: '@n8n/n8n-nodes-langchain.lmChatOpenAi',
      typeVersion: 1.1,
      credentials: { openAiApi: { id: 'o', name: 'O' } },
    };
    expect(reasons(switched({ a: {}, b: { model: other } }))).toEqual(['several-providers:']);
    const key = { credentials: { openRouterApi: { id: 'two', name: 'OpenRouter' } } };
    expect(reasons(switched({ a: {}, b: { model: key } }))).toEqual(['several-credentials:']);
    expect(reasons(switched({ a: {}, b: { model: { ...other, typeVersion: 1.3 } } }))).toEqual(['responses-api:']);
  });
});

describe('prompts', () => {
  it.each([
    [1.8, {}, 'You are a helpful assistant'],
    [1.9, {}, ''],
    [1.8, { systemMessage: '' }, ''],
    [3.1, { systemMessage: '=You are {{ $json.who }}' }, '=You are {{ $json.who }}'],
  ])('of version %s with %j: %s', (typeVersion, options, systemPrompt) => {
    const agent = { typeVersion, parameters: { options } };
    expect(newNode(switched({ a: { agent }, b: { agent } })).parameters).toMatchObject({
      systemPrompt,
      message: '={{ $json.chatInput }}',
      options: { maxIterations: 10, onMaxIterations: typeVersion >= 3 ? 'error' : 'partial' },
    });
  });

  it.each([
    [1, '={{ $json.input }}'],
    [1.1, '={{ $json.chat_input }}'],
    [1.2, '={{ $json.chatInput }}'],
  ])('of version %s are read from %s', (typeVersion, message) => {
    const agent = { typeVersion, parameters: { agent: 'toolsAgent', options: {} } };
    expect(newNode(switched({ a: { agent }, b: { agent } })).parameters.message).toBe(message);
  });

  it.each([
    ['guardrails', '={{ $json.guardrailsInput }}'],
    ['auto', '={{ $json.chatInput }}'],
    ['define', 'Hello'],
  ])('of the type %s are %s', (promptType, message) => {
    const agent = { parameters: { promptType, text: 'Hello', options: {} } };
    expect(newNode(switched({ a: { agent }, b: { agent } })).parameters.message).toBe(message);
  });

  it('of agents that are no tools agents are asked for; a SQL agent stays', () => {
    const agent = { typeVersion: 1.5, parameters: { options: {} } };
    expect(reasons(switched({ a: { agent }, b: { agent } }))).toEqual(['agent-kind:agent-kind']);
    const sql = { typeVersion: 1.6, parameters: { agent: 'sqlAgent' } };
    expect(reasons(switched({ a: { agent: sql }, b: { agent: sql } }), { allow: ['agent-kind'] })).toEqual([
      'sql-agent:',
    ]);
  });

  it('of an OpenAI Functions Agent are those of a tools agent', () => {
    const agent = { typeVersion: 1.5, parameters: { agent: 'openAiFunctionsAgent', options: {} } };
    expect(newNode(switched({ a: { agent }, b: { agent } })).parameters.systemPrompt).toBe(
      'You are a helpful assistant',
    );
  });

  it('that differ are never averaged away', () => {
    const input = two(
      { options: { systemMessage: 'Brief' } },
      { options: { systemMessage: 'Long', maxIterations: 3 } },
    );
    expect(newNode(input).parameters).toMatchObject({
      systemPrompt: "={{ $json.tier === 'small' ? 'Brief' : 'Long' }}",
      options: { maxIterations: "={{ $json.tier === 'small' ? 10 : 3 }}" },
    });
  });

  it('that are no expression leave the agents', () => {
    expect(reasons(two({ options: { systemMessage: '={{ if (1) 2 }}' } }, { options: {} }))).toEqual(['not-carried:']);
  });
});

it.each(['returnIntermediateSteps', 'passthroughBinaryImages', 'forceToolCallOnFirstIteration'])(
  'asks for the loss of %s',
  (option) => {
    const input = two({ options: { [option]: true } }, { options: {} });
    expect(reasons(input)).toEqual(['agent-options:dropped-options']);
  },
);

it('sets no time-out, since agents had none', () => {
  expect(newNode(switched({ a: {}, b: {} })).parameters.options).toMatchObject({ timeoutSeconds: 86_400 });
});

it.each([51, 0, 1.5])('leaves agents that may take %s iterations', (maxIterations) => {
  const options = { maxIterations };
  expect(reasons(two({ options }, { options }))).toEqual(['max-iterations:']);
});

it('leaves agents whose settings for errors differ', () => {
  expect(reasons(switched({ a: { agent: { onError: 'continueRegularOutput' } }, b: {} }))).toEqual(['error-settings:']);
});

describe('parsers', () => {
  const parsed = (agent: Partial<Part>, parser: string, more: readonly Part[] = []): ReturnType<typeof switched> => {
    const agents = ['Agent a', 'Agent b'];
    const withParser = { ...agent, parameters: { ...agent.parameters, hasOutputParser: true } };
    return switched(
      { a: { agent: withParser }, b: { agent: withParser } },
      {
        parts: [node('Parser', `ai.${parser}`), ...more],
        wires: [
          ...attach('Parser', 'ai_outputParser', agents),
          ...more.flatMap(({ name, type }) =>
            type.endsWith('memoryBufferWindow')
              ? attach(name, 'ai_memory', agents)
              : attach(name, 'ai_outputParser', ['Parser']),
          ),
        ],
      },
    );
  };
  const old = (typeVersion: number): Partial<Part> => ({ typeVersion, parameters: { agent: 'conversationalAgent' } });
  const OTHER_PLACE = ['output-shape:expressions'];

  it.each([
    [1.6, 'outputParserStructured@1.2', OTHER_PLACE],
    [1.6, 'outputParserStructured@1', []],
    [1.6, 'outputParserItemList@1', []],
    [1.7, 'outputParserStructured@1.2', []],
  ])('of conversational agents %s, %s: another place of the value is asked for', (version, parser, expected) => {
    expect(reasons(parsed(old(version), parser), { allow: ['agent-kind'] })).toEqual(expected);
  });

  const memory = node('Memory', 'ai.memoryBufferWindow@1.3', { sessionIdType: 'customKey', sessionKey: 'one' });
  it.each([
    ['outputParserStructured@1', [], OTHER_PLACE],
    ['outputParserItemList@1', [], OTHER_PLACE],
    ['outputParserItemList@1', [memory], []],
    ['outputParserStructured@1.3', [], []],
    ['outputParserAutofixing@1', [node('Inner', 'ai.outputParserStructured@1.3')], []],
    ['outputParserAutofixing@1', [node('Inner', 'ai.outputParserItemList@1')], OTHER_PLACE],
  ])('of tools agents, %s %j: another place of the value is asked for', (parser, more, expected) => {
    expect(reasons(parsed({ typeVersion: 3.1 }, parser, more))).toEqual(expected);
  });
});

describe('memories', () => {
  const memory = (name: string, parameters: JsonObject, version = '1.4'): Part =>
    node(name, `ai.memoryBufferWindow@${version}`, parameters);
  const withMemories = (a: Part, b: Part): ReturnType<typeof switched> =>
    switched(
      { a: {}, b: {} },
      {
        parts: [a, b],
        wires: [...attach(a.name, 'ai_memory', ['Agent a']), ...attach(b.name, 'ai_memory', ['Agent b'])],
      },
    );

  it('with the same key are one', () => {
    const input = withMemories(memory('M a', {}, '1.3'), memory('M b', {}, '1.3'));
    const { workflow, report } = migrated(input);
    expect(report.clusters[0]).toMatchObject({ connected: ['M a'] });
    expect(workflow.nodes.find(({ name }) => name === 'M a')?.parameters).toEqual({});
    expect(workflow.nodes.some(({ name }) => name === 'M b')).toBe(false);
  });

  it('whose keys n8n keeps apart by their names have the same keys afterwards', () => {
    const { workflow } = migrated(withMemories(memory('M a', {}), memory('M b', {})));
    expect(workflow.nodes.find(({ name }) => name === 'M a')?.parameters).toEqual({
      sessionIdType: 'customKey',
      sessionKey:
        "={{ $json.tier === 'a' ? ($json.sessionId ? $json.sessionId + '__M_a' : '') : ($json.sessionId ? $json.sessionId + '__M_b' : '') }}",
    });
  });

  it('that another agent reads too keep their keys, and others are asked for', () => {
    const input = switched(
      { a: {}, b: {} },
      {
        parts: [memory('M a', {}), memory('M b', {}), agentNode('Other'), modelNode('Model o')],
        wires: [
          ...attach('M a', 'ai_memory', ['Agent a', 'Other']),
          ...attach('M b', 'ai_memory', ['Agent b']),
          ...attach('Model o', 'ai_languageModel', ['Other']),
        ],
      },
    );
    expect(reasons(input)).toEqual(['memory-keys:memory-keys']);
  });

  it.each([
    [2.2, true, true],
    [2.2, false, false],
    [3, true, false],
  ])('of version %s with tools (%s) keep tool calls from now on: %s', (typeVersion, hasTools, isTold) => {
    const agents = ['Agent a', 'Agent b'];
    const tools = hasTools ? attach('Calculator', 'ai_tool', agents) : [];
    const input = switched(
      { a: { agent: { typeVersion } }, b: { agent: { typeVersion } } },
      {
        parts: [memory('M', {}), node('Calculator', 'ai.toolCalculator@1')],
        wires: [...attach('M', 'ai_memory', agents), ...tools],
      },
    );
    const notes = migrated(input).report.notes.map(({ text }) => text);
    expect(notes.some((text) => text.includes('keeps tool calls'))).toBe(isTold);
  });

  it('of other settings leave the agents', () => {
    expect(reasons(withMemories(memory('M a', {}), memory('M b', { contextWindowLength: 9 })))).toEqual([
      'several-memories:',
    ]);
  });
});

it('takes output parsers for one only where nothing is wired to them', () => {
  const agent = { parameters: { hasOutputParser: true, options: {} } };
  const withParsers = (wires: ReturnType<typeof attach>): ReturnType<typeof switched> =>
    switched(
      { a: { agent }, b: { agent } },
      {
        parts: ['a', 'b'].flatMap((name) => [
          node(`Parser ${name}`, 'ai.outputParserAutofixing@1'),
          modelNode(`Fixer ${name}`, { parameters: { model: `x/${name}` } }),
        ]),
        wires: [
          ...['a', 'b'].flatMap((name) => attach(`Parser ${name}`, 'ai_outputParser', [`Agent ${name}`])),
          ...wires,
        ],
      },
    );
  const { report } = migrated(withParsers([]), { allow: ['expressions'] });
  expect(report.clusters[0]?.connected).toEqual(['Parser a']);
  const fixers = ['a', 'b'].flatMap((name) => attach(`Fixer ${name}`, 'ai_languageModel', [`Parser ${name}`]));
  expect(reasons(withParsers(fixers), { allow: ['expressions'] })).toEqual(['several-parsers:']);
});
