import type { IExecuteFunctions } from 'n8n-workflow';

/** Ten seconds are over at once; all other times are as they are. */
jest.mock('node:timers/promises', () => {
  const actual = jest.requireActual<typeof import('node:timers/promises')>('node:timers/promises');
  return {
    ...actual,
    setTimeout: (ms: number, ...rest: [unknown?, object?]) => actual.setTimeout(ms === 10_000 ? 0 : ms, ...rest),
  };
});

it('a chat whose chunks never leave does not keep the answer of a run', async () => {
  // Loaded behind the mock.
  const { openChatStream } = await import('../../nodes/UniversalAiAgent/operations/chat-stream');
  const sent: string[] = [];
  const warned: string[] = [];
  const context = {
    isStreaming: () => true,
    getNode: () => ({ type: 'universalAiAgent', parameters: {} }),
    logger: { warn: (text: string) => warned.push(text) },
    sendChunk: (type: string) => {
      sent.push(type);
      return new Promise(() => undefined);
    },
  } as unknown as IExecuteFunctions;
  const stream = openChatStream(context, 0);
  stream?.onEvent?.({ type: 'text-delta', step: 1, text: 'Two orders.' });
  await stream?.finish({ output: 'Two orders.' });
  // The chunks behind the first one are not even tried.
  expect([sent, warned]).toEqual([['begin'], [expect.stringContaining('has not left after 10 seconds')]]);
});
