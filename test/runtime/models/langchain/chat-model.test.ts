import { AIMessage, type BaseMessage, coerceMessageLikeToMessage } from '@langchain/core/messages';

import {
  fromChatModel,
  type Message,
  type ModelReply,
  type ModelRequest,
  type RuntimeError,
} from '../../../../runtime';
import { containing, withCode } from '../../../support/setup/matchers';

interface Invoked {
  readonly messages: readonly BaseMessage[];
  readonly options: { readonly signal?: AbortSignal };
}

interface Bound {
  readonly tools: readonly unknown[];
  readonly options?: object;
}

/** A chat model by its shape, whose messages go through LangChain's own reading of them. */
function aChatModel(answer: () => unknown, more: object = {}) {
  const invoked: Invoked[] = [];
  const bound: Bound[] = [];
  const invoke = (messages: readonly object[], options: Invoked['options']): Promise<unknown> => {
    invoked.push({ messages: messages.map((message) => coerceMessageLikeToMessage(message as never)), options });
    return Promise.resolve().then(answer);
  };
  const bindTools = (tools: readonly unknown[], options?: object): object => {
    bound.push({ tools, options });
    return { invoke };
  };
  return { invoked, bound, given: { model: 'vendor/model', invoke, bindTools, ...more } };
}

const TOOL = { name: 'find', description: 'Finds', inputSchema: { type: 'object', properties: {} } };

function aRequest(more: Partial<ModelRequest> = {}): ModelRequest {
  return {
    modelId: 'vendor/model',
    messages: [{ role: 'user', content: 'Go' }],
    tools: [TOOL],
    toolChoice: 'auto',
    parallelToolCalls: true,
    temperature: 0.1,
    maxTokens: 5,
    silenceMs: 1000,
    signal: new AbortController().signal,
    attempts: { sent: 0, answered: 0 },
    ...more,
  };
}

const ask = (answer: () => unknown, more?: Partial<ModelRequest>): Promise<ModelReply> =>
  fromChatModel(aChatModel(answer).given, 'Chat Model').model.generate(aRequest(more));
const answerWith = (fields: ConstructorParameters<typeof AIMessage>[0]) => () => new AIMessage(fields);

it.each([
  [{ model: 'a/b' }, 'a/b'],
  [{ model: undefined, modelName: 'gpt-4o' }, 'gpt-4o'],
  [{ model: '', deploymentName: 'mine' }, 'mine'],
  [{ model: undefined }, 'Object'],
])('is named by %j', (fields, name) => {
  expect(fromChatModel(aChatModel(() => '', fields).given, 'Chat Model').name).toBe(name);
});

it.each([[undefined], [null], ['text'], [{ invoke: () => '' }], [{ bindTools: () => '' }]])(
  'refuses %j, which is no chat model',
  (given) => {
    expect(() => fromChatModel(given, 'Fallback Model')).toThrow(
      withCode('MODEL_UNUSABLE', { message: containing('Fallback Model') }),
    );
  },
);

it('gives the tools once, and the messages as LangChain reads them', async () => {
  const { given, invoked, bound } = aChatModel(answerWith('fine'), { metadata: { tools: [{ type: 'web_search' }] } });
  const { model } = fromChatModel(given, 'Chat Model');
  const messages: readonly Message[] = [
    { role: 'system', content: 'Be brief' },
    { role: 'user', content: 'Hi' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'find', arguments: '{"q":1}' } }],
    },
    { role: 'tool', tool_call_id: 'c1', content: '"found"' },
    { role: 'system', content: 'One at a time' },
  ];
  const request = aRequest({ messages });
  await model.generate(request);
  await model.generate(request);
  expect(bound).toEqual([
    {
      tools: [
        { type: 'function', function: { name: 'find', description: 'Finds', parameters: TOOL.inputSchema } },
        { type: 'web_search' },
      ],
      options: undefined,
    },
  ]);
  expect(invoked[0]?.messages.map((message) => [message.type, message.content, message.name])).toEqual([
    ['system', 'Be brief', undefined],
    ['human', 'Hi', undefined],
    ['ai', '', undefined],
    ['tool', '"found"', 'find'],
    ['human', 'One at a time', undefined],
  ]);
  expect(invoked[0]?.messages[2]).toMatchObject({ tool_calls: [{ id: 'c1', name: 'find', args: { q: 1 } }] });
  expect(invoked[0]?.messages[3]).toMatchObject({ tool_call_id: 'c1' });
  expect(Object.keys(invoked[0]?.options ?? {})).toEqual(['signal']);
});

it('takes arguments as the model wrote them where LangChain has rounded an integer', async () => {
  const written = '{"id":2512292042121000001}';
  const call = { id: 'a', type: 'function' as const, function: { name: 'find', arguments: written } };
  const reply = await ask(
    answerWith({
      content: '',
      tool_calls: [{ id: 'a', name: 'find', args: JSON.parse(written) as Record<string, unknown> }],
      additional_kwargs: { tool_calls: [call] },
    }),
  );
  expect(reply.message.tool_calls).toMatchObject([{ function: { arguments: written } }]);
});

it.each([
  ['vendor/model', { properties: { list: { type: 'array', items: {} }, at: { type: 'string', format: 'uri' } } }],
  [
    'gemini-2.5-pro',
    {
      properties: {
        list: { type: 'array', items: { type: 'string' } },
        at: { type: 'string', description: '(format uri)' },
      },
    },
  ],
])('shows %s tools in a form that it takes', async (model, offered) => {
  const { given, bound } = aChatModel(answerWith('fine'), { model });
  const properties = { list: { type: 'array' }, at: { type: 'string', format: 'uri' } };
  const inputSchema = { type: 'object', properties, anyOf: [{ required: ['list'] }, { required: ['at'] }] };
  await fromChatModel(given, 'Chat Model').model.generate(aRequest({ tools: [{ ...TOOL, inputSchema }] }));
  expect(bound[0]?.tools).toMatchObject([
    {
      function: {
        description: 'Finds\n\nGive one of these sets of arguments: list | at.',
        parameters: { type: 'object', ...offered },
      },
    },
  ]);
});

it.each([
  ['required', { tool_choice: 'any' }],
  ['none', { tool_choice: 'none' }],
] as const)('says that a call of a tool is %s', async (toolChoice, options) => {
  const { given, bound } = aChatModel(answerWith('fine'));
  await fromChatModel(given, 'Chat Model').model.generate(aRequest({ toolChoice }));
  expect(bound[0]?.options).toEqual(options);
});

it('binds nothing without tools', async () => {
  const { given, bound } = aChatModel(answerWith('fine'));
  await fromChatModel(given, 'Chat Model').model.generate(aRequest({ tools: [] }));
  expect(bound).toEqual([]);
});

it('reads text, calls, usage and the ids of a reply', async () => {
  const attempts = { sent: 0, answered: 0 };
  const reply = await ask(
    answerWith({
      id: 'gen-1',
      content: 'Let me see',
      tool_calls: [{ id: 'c1', name: 'find', args: { q: 'x' } }],
      invalid_tool_calls: [{ id: 'c2', name: 'find', args: '{"q":', error: 'Malformed' }],
      usage_metadata: {
        input_tokens: 100,
        output_tokens: 20,
        total_tokens: 120,
        input_token_details: { cache_read: 60 },
        output_token_details: { reasoning: 5 },
      },
      response_metadata: { model_name: 'vendor/model-2026', finish_reason: 'tool_calls', usage: { cost: 0.0125 } },
    }),
    { attempts },
  );
  expect(reply).toEqual({
    message: {
      role: 'assistant',
      content: 'Let me see',
      tool_calls: [
        { id: 'c1', type: 'function', function: { name: 'find', arguments: '{"q":"x"}' } },
        { id: 'c2', type: 'function', function: { name: 'find', arguments: '{"q":' } },
      ],
    },
    finishReason: 'tool-calls',
    usage: {
      promptTokens: 100,
      completionTokens: 20,
      cachedTokens: 60,
      cacheWriteTokens: 0,
      cacheWrite1hTokens: 0,
      reasoningTokens: 5,
    },
    providerCostUsd: '0.0125',
    modelReturned: 'vendor/model-2026',
    providerRequestId: 'gen-1',
  });
  expect(attempts).toEqual({ sent: 1, answered: 1 });
});

it.each([
  [{ finish_reason: 'length' }, 'length'],
  [{ stop_reason: 'max_tokens' }, 'length'],
  [{ finishReason: 'MAX_TOKENS' }, 'length'],
  [{ finishReason: 'SAFETY' }, 'content-filter'],
  [{ finish_reason: 'content_filter' }, 'content-filter'],
  [{ done_reason: 'stop' }, 'stop'],
  [{}, 'stop'],
])('reads %j', async (response_metadata, finishReason) => {
  expect((await ask(answerWith({ content: 'x', response_metadata }))).finishReason).toBe(finishReason);
});

it.each([[undefined], [{ input_tokens: -1, output_tokens: 3, total_tokens: 2 }]])(
  'counts no usage that is %j',
  async (usage_metadata) => {
    expect((await ask(answerWith({ content: 'x', usage_metadata }))).usage).toBeUndefined();
  },
);

it.each([[undefined], ['text'], [{}]])('refuses %j, which is no message', async (reply) => {
  await expect(ask(() => reply)).rejects.toThrow(withCode('LLM_BAD_REPLY'));
});

describe('blocks that the model must get back', () => {
  const content = [
    { type: 'thinking', thinking: 'hm', signature: 's1' },
    { type: 'text', text: 'One' },
    { type: 'text', text: 'Two' },
    { type: 'tool_use', id: 'c1', name: 'find', input: { q: 1 } },
  ];
  const tool_calls = [{ id: 'c1', name: 'find', args: { q: 1 } }];
  const additional_kwargs = { thought: 't', tool_calls: [{ id: 'c1' }] } as never;

  const sentBack = async (message: Message): Promise<BaseMessage | undefined> => {
    const { given, invoked } = aChatModel(answerWith('fine'));
    await fromChatModel(given, 'Chat Model').model.generate(aRequest({ messages: [message] }));
    return invoked[0]?.messages[0];
  };

  it('are kept through a journal, and given back to the same model', async () => {
    const { message } = await ask(answerWith({ content, tool_calls, additional_kwargs }));
    expect(message.content).toBe('One\nTwo');
    const back = await sentBack(JSON.parse(JSON.stringify(message)) as Message);
    expect(back).toMatchObject({ content, tool_calls, additional_kwargs: { thought: 't' } });
    expect(back?.additional_kwargs).not.toHaveProperty('tool_calls');
  });

  it('are left out where the calls are others by now, and for another model', async () => {
    const { message } = await ask(answerWith({ content, tool_calls }));
    const [call] = message.tool_calls ?? [];
    if (call === undefined) throw new Error('there is no call');
    expect((await sentBack({ ...message, tool_calls: [{ ...call, id: 'other' }] }))?.content).toBe('One\nTwo');
    const { given, invoked } = aChatModel(answerWith('fine'), { model: 'vendor/other' });
    await fromChatModel(given, 'Chat Model').model.generate(aRequest({ messages: [message] }));
    expect(invoked[0]?.messages[0]?.content).toBe('One\nTwo');
  });
});

it('keeps an answer that was paid for, whatever else hangs on the reply', async () => {
  const endless: Record<string, unknown> = {};
  endless.self = endless;
  const reply = {
    content: 'Hi',
    additional_kwargs: endless,
    response_metadata: { finish_reason: 'stop', created: 1n },
    usage_metadata: { input_tokens: 10n, output_tokens: 5 },
  };
  expect(await ask(() => reply)).toMatchObject({
    message: { content: 'Hi' },
    usage: { promptTokens: 10, completionTokens: 5 },
  });
});

describe('a failure', () => {
  const failing = (fields: object, message = 'no'): (() => never) => {
    return () => {
      throw Object.assign(new Error(message), fields);
    };
  };
  const codeOf = (answer: () => unknown): Promise<string> =>
    ask(answer).then(
      () => 'none',
      (error: unknown) => (error as RuntimeError).code,
    );

  it.each([
    [{ status: 401 }, 'LLM_AUTH_FAILED'],
    [{ status: 402 }, 'LLM_INSUFFICIENT_CREDITS'],
    [{ httpCode: '429' }, 'LLM_RATE_LIMITED'],
    [{ response: { status: 404 } }, 'LLM_MODEL_NOT_FOUND'],
    [{ statusCode: 400 }, 'LLM_BAD_REQUEST'],
    [{ cause: { status: 503 } }, 'LLM_UNAVAILABLE'],
    [{ lc_error_code: 'MODEL_RATE_LIMIT' }, 'LLM_RATE_LIMITED'],
    [{ name: 'TimeoutError' }, 'LLM_TIMEOUT'],
    [{ code: 'ECONNREFUSED' }, 'LLM_UNAVAILABLE'],
    [{}, 'LLM_UNAVAILABLE'],
    [{ status: Object.create(null) as object }, 'LLM_UNAVAILABLE'],
  ])('of %j has one of our codes', async (fields, code) => {
    expect(await codeOf(failing(fields))).toBe(code);
  });

  it.each([
    [{ status: 500 }, { sent: 1, answered: 1 }],
    [{ cause: { code: 'ENOTFOUND' } }, { sent: 1, answered: 1 }],
    [{ name: 'TimeoutError' }, { sent: 1, answered: 0 }],
  ])('of %j leaves usage unknown only where something may have been used', async (fields, counted) => {
    const attempts = { sent: 0, answered: 0 };
    await expect(ask(failing(fields), { attempts })).rejects.toThrow();
    expect(attempts).toEqual(counted);
  });

  it("quotes none of the model's secrets, and n8n's own words with the provider's", async () => {
    const { given } = aChatModel(
      failing({ status: 400, description: 'key hunter2-secret of team blue-header-9' }, 'Bad request'),
      { apiKey: 'hunter2-secret', clientConfig: { defaultHeaders: { 'x-team-token': 'blue-header-9' } } },
    );
    const failed = fromChatModel(given, 'Chat Model').model.generate(aRequest());
    await expect(failed).rejects.toThrow('Bad request: key [redacted] of team [redacted]');
  });

  it('is told although the model does not let itself be looked through', async () => {
    const { given } = aChatModel(failing({ status: 429 }, 'slow down, hunter2-secret'), { apiKey: 'hunter2-secret' });
    const locked = Object.defineProperty(given, 'client', {
      enumerable: true,
      get: () => {
        throw new Error('locked');
      },
    });
    await expect(fromChatModel(locked, 'Chat Model').model.generate(aRequest())).rejects.toThrow(
      withCode('LLM_RATE_LIMITED', { message: containing('slow down, [redacted]') }),
    );
  });

  it('of the tools that cannot be bound is one of the model', async () => {
    const { given } = aChatModel(answerWith('x'), { bindTools: failing({ status: 400 }, 'schema of find') });
    await expect(fromChatModel(given, 'Chat Model').model.generate(aRequest())).rejects.toThrow(
      withCode('LLM_BAD_REQUEST', { message: containing('schema of find') }),
    );
  });
});
