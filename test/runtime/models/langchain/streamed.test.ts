import type { CallbackManagerForLLMRun } from '@langchain/core/callbacks/manager';
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, AIMessageChunk, type BaseMessage } from '@langchain/core/messages';
import { ChatGenerationChunk, type ChatResult } from '@langchain/core/outputs';

import { fromChatModel, type ModelReply, type ModelRequest } from '../../../../runtime';
import { withCode } from '../../../support/setup/matchers';

type ChunkFields = ConstructorParameters<typeof AIMessageChunk>[0];

interface Piece {
  readonly fields: ChunkFields;
  readonly info?: Record<string, unknown>;
  /** What the adapter names the token, where it is not the text. */
  readonly token?: string;
}

const words = (...texts: readonly string[]): readonly Piece[] => texts.map((content) => ({ fields: { content } }));

/** An adapter of LangChain, which can give its reply in pieces. */
class StreamingModel extends BaseChatModel {
  model = 'vendor/model';

  constructor(
    readonly pieces: readonly Piece[],
    readonly failure?: Error,
    /** Some adapters name the token alone. */
    readonly namesChunks = true,
  ) {
    super({ maxRetries: 0 });
  }

  _llmType(): string {
    return 'streaming';
  }

  override bindTools(): this {
    return this;
  }

  override _generate(): Promise<ChatResult> {
    const content = this.pieces.map(({ fields }) => (fields as { content: string }).content).join('');
    return Promise.resolve({ generations: [{ text: content, message: new AIMessage(content) }] });
  }

  override async *_streamResponseChunks(
    _messages: BaseMessage[],
    _options: this['ParsedCallOptions'],
    run?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    for (const { fields, info, token } of this.pieces) {
      const message = new AIMessageChunk(fields);
      const text = token ?? (typeof message.content === 'string' ? message.content : '');
      const chunk = new ChatGenerationChunk({ message, text, ...(info === undefined ? {} : { generationInfo: info }) });
      yield chunk;
      await run?.handleLLMNewToken(
        text,
        undefined,
        undefined,
        undefined,
        undefined,
        this.namesChunks ? { chunk } : undefined,
      );
    }
    if (this.failure !== undefined) throw this.failure;
  }
}

type Delta = Parameters<NonNullable<ModelRequest['onDelta']>>[0];

interface Asked {
  readonly reply: Promise<ModelReply>;
  readonly heard: Delta[];
  readonly attempts: ModelRequest['attempts'];
}

function ask(model: BaseChatModel, more: Partial<ModelRequest> = {}): Asked {
  const heard: Delta[] = [];
  const attempts = { sent: 0, answered: 0 };
  const reply = fromChatModel(model, 'Model').model.generate({
    modelId: 'vendor/model',
    messages: [{ role: 'user', content: 'Go' }],
    tools: [],
    toolChoice: 'auto',
    parallelToolCalls: true,
    silenceMs: 1000,
    signal: new AbortController().signal,
    attempts,
    onDelta: (delta) => void heard.push(delta),
    ...more,
  });
  return { reply, heard, attempts };
}

const textsOf = ({ heard }: Asked): readonly string[] => heard.map(({ text }) => text);

it.each([true, false])('tells of the pieces of a reply, whether its chunks are named (%s)', async (namesChunks) => {
  const asked = ask(new StreamingModel(words('Two', '', ' orders', '.'), undefined, namesChunks));
  expect((await asked.reply).message.content).toBe('Two orders.');
  expect(asked.heard).toEqual(['Two', ' orders', '.'].map((text) => ({ kind: 'text', text })));
  expect(asked.attempts).toEqual({ sent: 1, answered: 1, isShown: true });
});

it('asks for the whole where nobody listens', async () => {
  const model = new StreamingModel(words('Two', ' orders'));
  const streamed = jest.spyOn(model, '_streamResponseChunks');
  const { reply } = ask(model, { onDelta: undefined });
  expect((await reply).message.content).toBe('Two orders');
  expect(streamed).not.toHaveBeenCalled();
});

it('reads usage, cost, calls and the reason of the end from the pieces', async () => {
  const call = (args: string, more: object = {}): ChunkFields => ({
    content: '',
    tool_call_chunks: [{ index: 0, args, ...more }],
  });
  const asked = ask(
    new StreamingModel([
      { fields: { content: 'Let me see' } },
      { fields: call('{"q":', { id: 'c1', name: 'find' }), token: '{"q":' },
      { fields: call('"x"}'), info: { finish_reason: 'tool_calls', model_name: 'vendor/model-2026' }, token: '"x"}' },
      {
        fields: {
          content: '',
          usage_metadata: { input_tokens: 100, output_tokens: 20, total_tokens: 120 },
          response_metadata: { usage: { cost: 0.0125 } },
        },
      },
    ]),
  );
  expect(await asked.reply).toMatchObject({
    message: {
      content: 'Let me see',
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'find', arguments: '{"q":"x"}' } }],
    },
    finishReason: 'tool-calls',
    modelReturned: 'vendor/model-2026',
    usage: { promptTokens: 100, completionTokens: 20 },
    providerCostUsd: '0.0125',
  });
  expect(textsOf(asked)).toEqual(['Let me see']);
});

it('knows that a streamed reply was cut', async () => {
  const pieces = [...words('Two'), { fields: { content: ' ord' }, info: { finish_reason: 'length' } }];
  expect((await ask(new StreamingModel(pieces)).reply).finishReason).toBe('length');
});

it.each(['', 'null', null])('a later piece whose reason is %j takes no reason away', async (finish_reason) => {
  const pieces = [{ fields: { content: 'Two ord' }, info: { finish_reason: 'length' } }, ...words('')];
  const last = { fields: { content: '' }, info: { finish_reason } };
  expect((await ask(new StreamingModel([...pieces, last])).reply).finishReason).toBe('length');
});

it("reads the end of Anthropic's messages, which counts the output from the beginning again", async () => {
  const counted = (input: number, output: number): ChunkFields => ({
    content: [],
    usage_metadata: { input_tokens: input, output_tokens: output, total_tokens: input + output },
  });
  const begin = { ...(counted(120, 2) as object), additional_kwargs: { type: 'message', model: 'claude-3-haiku' } };
  const end = { ...(counted(0, 25) as object), additional_kwargs: { stop_reason: 'max_tokens' } };
  const text = { content: [{ type: 'text', text: 'Two', index: 0 }] };
  // Each part of the end counts from the beginning.
  const middle = counted(0, 10);
  const asked = ask(new StreamingModel([begin, text, middle, end].map((fields) => ({ fields: fields }))));
  expect(await asked.reply).toMatchObject({
    finishReason: 'length',
    modelReturned: 'claude-3-haiku',
    usage: { promptTokens: 120, completionTokens: 25 },
  });
  expect((await asked.reply).contradiction).toBeUndefined();
});

it.each([
  ['numbered', [0, 0, 1, 1], 'One two\nThree'],
  ['without numbers', [], 'One twoThree'],
])('shows the text of blocks that are %s as the result has it, and no thinking', async (_name, numbers, text) => {
  const block = (words_: string, place: number): Piece => ({
    fields: {
      content: [{ type: 'text', text: words_, ...(numbers[place] === undefined ? {} : { index: numbers[place] }) }],
    },
  });
  const thinking = { fields: { content: [{ type: 'thinking', thinking: 'hm', index: 9 }] }, token: 'hm' };
  const asked = ask(new StreamingModel([thinking, block('One', 0), block(' two', 1), block('Th', 2), block('ree', 3)]));
  expect((await asked.reply).message.content).toBe(text);
  expect(textsOf(asked).join('')).toBe(text);
});

it('counts what was written of a reply that broke off, and tells that no other may follow', async () => {
  const asked = ask(new StreamingModel(words('Two', ' ord'), new Error('socket hang up')));
  await expect(asked.reply).rejects.toThrow(withCode('LLM_UNAVAILABLE'));
  expect(asked.attempts).toEqual({
    sent: 1,
    answered: 1,
    isShown: true,
    wasted: [{ modelId: 'vendor/model', written: 'Two ord' }],
  });
});

it.each<[string, ChunkFields, object]>([
  [
    'usage that had come',
    { content: 'Two', usage_metadata: { input_tokens: 50_000, output_tokens: 7, total_tokens: 50_007 } },
    { usage: { promptTokens: 50_000, completionTokens: 7 } },
  ],
  ['thinking', { content: [{ type: 'thinking', thinking: 'hm' }] }, { written: 'hm' }],
  ['arguments', { content: '', tool_call_chunks: [{ index: 0, name: 'find', args: '{"q' }] }, { written: 'find{"q' }],
])('counts %s of a reply that broke off', async (_what, fields, used) => {
  const busy = Object.assign(new Error('busy'), { status: 529 });
  const asked = ask(new StreamingModel([{ fields }], busy));
  await expect(asked.reply).rejects.toThrow();
  expect(asked.attempts).toMatchObject({ sent: 1, wasted: [used] });
});

it('leaves a stream that broke off before its first word to the fallback', async () => {
  const asked = ask(new StreamingModel([], Object.assign(new Error('busy'), { status: 503 })));
  await expect(asked.reply).rejects.toThrow(withCode('LLM_UNAVAILABLE'));
  expect(asked.attempts).toEqual({ sent: 1, answered: 1 });
});
