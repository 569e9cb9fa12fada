import type { IExecuteFunctions } from 'n8n-workflow';

import { openChatStream } from '../../nodes/UniversalAiAgent/operations/chat-stream';

beforeEach(() => jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] }));
afterEach(() => jest.useRealTimers());

interface Chat {
  readonly context: IExecuteFunctions;
  readonly sent: string[];
  readonly warned: string[];
}

function chatThat(send: () => Promise<void>): Chat {
  const [sent, warned]: [string[], string[]] = [[], []];
  const context = {
    isStreaming: () => true,
    getNode: () => ({ type: 'universalAiAgent', parameters: {} }),
    logger: { warn: (text: string) => warned.push(text) },
    sendChunk: (type: string) => {
      sent.push(type);
      return send();
    },
  } as unknown as IExecuteFunctions;
  return { context, sent, warned };
}

async function answer({ context }: Chat, index: number): Promise<void> {
  const stream = openChatStream(context, index);
  stream?.onEvent?.({ type: 'text-delta', step: 1, text: 'Two orders.' });
  const finished = stream?.finish({ output: 'Two orders.' });
  await jest.advanceTimersByTimeAsync(10_000);
  await finished;
}

it('a chat whose chunks never leave does not keep the answer of a run, nor those of later items', async () => {
  const chat = chatThat(() => new Promise(() => undefined));
  await answer(chat, 0);
  await answer(chat, 1);
  // The chunks behind the first one are not even tried.
  expect([chat.sent, chat.warned]).toEqual([['begin'], [expect.stringContaining('has not left after 10 seconds')]]);
});

it.each([new Error('gone'), 'gone', undefined])(
  'a chat that refuses its chunks with %s takes no answer away',
  async (reason) => {
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- hosts may do so
    const chat = chatThat(() => Promise.reject(reason));
    await answer(chat, 0);
    expect(chat.warned[0]).toBe(`The answer could not be streamed: ${reason === undefined ? 'undefined' : 'gone'}`);
  },
);
