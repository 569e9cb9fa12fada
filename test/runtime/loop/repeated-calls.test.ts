import { textOf, type ToolOutput } from '../../../runtime';
import { asks, aTool, runScript, says, toldCodes } from '../../support/values/loop-script';

/** A tool that counts its calls and answers with what the script says. */
function counting(answers: readonly unknown[] = []): { tool: ReturnType<typeof aTool>; made: () => number } {
  let made = 0;
  const tool = aTool('poll', () => {
    const value = (answers[made] ?? 'pending') as ToolOutput['value'];
    made++;
    return Promise.resolve({ isError: value === 'failed', value });
  });
  return { tool, made: () => made };
}

const poll = (input: unknown = {}) => asks([['poll', input]]);

it('makes a call with the same arguments and the same answer twice, then gives the answer it had, with a word', async () => {
  const { tool, made } = counting();
  const { outcome, sent } = await runScript({ tools: [tool], replies: [poll(), poll(), poll(), says('Done')] });
  expect(outcome.status).toBe('completed');
  expect(made()).toBe(2);
  expect(toldCodes({ outcome } as never)).toEqual([undefined, undefined, 'TOOL_REPEATED']);
  expect(JSON.parse(textOf(sent[3]?.messages.at(-1)?.content ?? null))).toMatchObject({
    warning: { code: 'TOOL_REPEATED' },
    result: 'pending',
  });
});

it.each([
  ['other arguments', [{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }], []],
  ['another answer each time', [{}, {}, {}, {}], ['1 of 3', '2 of 3', '3 of 3', 'done']],
  ['a failure in between', [{}, {}, {}, {}], ['pending', 'failed', 'pending', 'failed']],
])('leaves calls with %s alone', async (_what, inputs, answers) => {
  const { tool, made } = counting(answers);
  const { outcome } = await runScript({ tools: [tool], replies: [...inputs.map(poll), says('Done')] });
  expect(outcome.status).toBe('completed');
  expect(made()).toBe(4);
});
