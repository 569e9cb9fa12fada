import { InMemoryChatMessageHistory } from '@langchain/core/chat_history';
import { AIMessage, type BaseMessage, HumanMessage, SystemMessage, ToolMessage } from '@langchain/core/messages';
import { DynamicTool } from '@langchain/core/tools';
import type { IRun, ISupplyDataFunctions } from 'n8n-workflow';

import { textReply, toolReply } from '../support/servers/model-server';
import { containing } from '../support/setup/matchers';
import { connectedWorld, NODE_TYPE } from '../support/worlds/connected-world';
import { outputOf } from '../support/worlds/n8n-engine';
import { subNodeType } from '../support/worlds/sub-nodes';

const world = connectedWorld();

type Supply = (context: ISupplyDataFunctions, itemIndex: number) => unknown;

/** A workflow of our node with a memory and a tool named `clock`. */
function run(memory: Supply, { type = NODE_TYPE, items = [{}] as object[] } = {}): Promise<IRun> {
  const clock = new DynamicTool({ name: 'clock', description: 'Tells the time', func: () => Promise.resolve('noon') });
  return world.run({
    parameters: { systemPrompt: 'Be kind.', message: '={{ $json.message || "now" }}' },
    node: { type },
    wires: [
      { name: 'Memory', type: 'test.memory', output: 'ai_memory' },
      { name: 'Clock', type: 'test.clock', output: 'ai_tool' },
    ],
    nodeTypes: { 'test.memory': subNodeType('ai_memory', memory), 'test.clock': subNodeType('ai_tool', () => clock) },
    items,
  });
}

/** What n8n's memories give, over a history of LangChain. */
function aMemory(history: { getMessages: () => Promise<BaseMessage[]> }, more: object = {}) {
  const saved: unknown[] = [];
  const saveContext = (...turn: unknown[]) => Promise.resolve(saved.push(turn));
  const loadMemoryVariables = async () => ({ chat_history: await history.getMessages() });
  return { memory: { chatHistory: history, loadMemoryVariables, saveContext, ...more }, saved };
}

/** A history that cannot take messages of tools. */
const plainHistory = (...messages: BaseMessage[]) => ({ getMessages: () => Promise.resolve(messages) });
const sent = () =>
  world
    .models()
    .received.at(-1)
    ?.messages.map(({ role, content }) => [role, content]) ?? [];
const call = (id: string, name = 'clock') => ({ id, name, args: { input: 'x' }, type: 'tool_call' as const });

describe('what a memory holds', () => {
  it('is told to the model between the system prompt and the message', async () => {
    const history = plainHistory(
      new SystemMessage('Summary: a test.'),
      new HumanMessage({
        content: [
          { type: 'text', text: 'Hello, ' },
          { type: 'text', text: 'you.' },
        ],
      }),
      new AIMessage({ content: '', tool_calls: [call('a')] }),
      new ToolMessage({ content: 'noon', tool_call_id: 'a' }),
      new AIMessage(''),
      new AIMessage('Hi.'),
    );
    world.models().script(textReply('ok'));
    await run(() => aMemory(history).memory);
    expect(sent()).toEqual([
      ['system', 'Be kind.\n\nSummary: a test.'],
      ['user', 'Hello, you.'],
      ['assistant', null],
      ['tool', 'noon'],
      ['assistant', 'Hi.'],
      ['user', 'now'],
    ]);
    expect(world.models().received[0]?.messages[2]?.tool_calls).toEqual([
      { id: 'a', type: 'function', function: { name: 'clock', arguments: '{"input":"x"}' } },
    ]);
  });

  it('is read from messages that have the old name for their kind', async () => {
    const old = { _getType: () => 'human', content: 'before' };
    const odd = { getType: () => 'remove', content: 'gone' };
    world.models().script(textReply('ok'));
    await run(() => aMemory(plainHistory(old as never, odd as never)).memory);
    expect(sent().map(([, content]) => content)).toEqual(['Be kind.', 'before\n\nnow']);
  });

  it('loses a step that its window has cut', async () => {
    const history = plainHistory(
      new ToolMessage({ content: 'noon', tool_call_id: 'a' }),
      new AIMessage('It is noon.'),
      new HumanMessage('And now?'),
      new AIMessage({ content: '', tool_calls: [call('b'), call('c')] }),
      new ToolMessage({ content: 'noon', tool_call_id: 'b' }),
    );
    world.models().script(textReply('ok'));
    await run(() => aMemory(history).memory);
    expect(sent().map(([role]) => role)).toEqual(['system', 'assistant', 'user']);
    expect(sent().at(-1)?.[1]).toBe('And now?\n\nnow');
  });

  it.each<[string, Supply, string]>([
    [
      'fails',
      () => aMemory({ getMessages: () => Promise.reject(new Error('connection lost')) }).memory,
      'connection lost',
    ],
    [
      'holds no list',
      () => aMemory(plainHistory(), { loadMemoryVariables: () => ({ chat_history: 'a' }) }).memory,
      'no list',
    ],
    ['is no memory', () => ({}), 'no history'],
  ])('fails the item before the model is asked when it %s', async (_what, memory, message) => {
    const ran = await run(memory);
    expect(ran.data.resultData.error).toMatchObject({ message: containing(message) });
    expect(world.models().received).toEqual([]);
  });

  it("fails the item with n8n's own error when its node does", async () => {
    const ran = await run(() => {
      throw new Error('No session ID found');
    });
    expect(ran.data.resultData.error).toMatchObject({ message: 'Error in sub-node Memory' });
  });

  it('is that of the item', async () => {
    const histories = [new InMemoryChatMessageHistory(), new InMemoryChatMessageHistory()];
    world.models().script(textReply('one'), textReply('two'));
    const memory: Supply = (_context, index) => {
      const history = histories[index] as InMemoryChatMessageHistory;
      return aMemory(history, {
        saveContext: ({ input }: { input: string }, { output }: { output: string }) =>
          history.addMessages([new HumanMessage(input), new AIMessage(output)]),
      }).memory;
    };
    await run(memory, { items: [{ message: 'a' }, { message: 'b' }] });
    const contents = await Promise.all(
      histories.map(async (one) => (await one.getMessages()).map(({ content }) => content)),
    );
    expect(contents).toEqual([
      ['a', 'one'],
      ['b', 'two'],
    ]);
  });

  it('is ignored where the node is a tool of another agent', async () => {
    const { memory, saved } = aMemory(plainHistory(new HumanMessage('before')));
    world.models().script(textReply('ok'));
    await run(() => memory, { type: `${NODE_TYPE}Tool` });
    expect(sent()).toHaveLength(2);
    expect(saved).toEqual([]);
  });
});

describe('a turn is kept', () => {
  const withTool = () =>
    world.models().script(toolReply([{ name: 'clock', arguments: { input: 'x' }, id: 'a' }]), textReply('Noon.'));

  it('without steps as question and answer', async () => {
    const { memory, saved } = aMemory(new InMemoryChatMessageHistory());
    world.models().script(textReply('ok'));
    await run(() => memory);
    expect(saved).toEqual([[{ input: 'now' }, { output: 'ok' }]]);
  });

  it("with its steps as messages of n8n's own classes, which the next run gets back", async () => {
    const history = new InMemoryChatMessageHistory();
    const { memory, saved } = aMemory(history);
    withTool();
    await run(() => memory);
    const kept = await history.getMessages();
    expect(kept.map((message) => message.constructor)).toEqual([HumanMessage, AIMessage, ToolMessage, AIMessage]);
    expect(kept).toMatchObject([
      { content: 'now' },
      { content: '', tool_calls: [call('a')] },
      { content: '"noon"', tool_call_id: 'a', name: 'clock' },
      { content: 'Noon.' },
    ]);
    // A Chat Trigger that loads the previous session sends the others to the browser.
    expect(kept.map(({ additional_kwargs: { hideFromUI } }) => hideFromUI)).toEqual([undefined, true, true, undefined]);
    expect(saved).toEqual([]);
    world.models().script(textReply('ok'));
    await run(() => memory);
    expect(sent().map(([role]) => role)).toEqual(['system', 'user', 'assistant', 'tool', 'assistant', 'user']);
  });

  it('without its steps where the memory takes no such messages', async () => {
    const { memory, saved } = aMemory(plainHistory());
    withTool();
    await run(() => memory);
    expect(saved).toEqual([[{ input: 'now' }, { output: 'Noon.' }]]);
  });

  it('or it is a warning that it was not', async () => {
    const { memory } = aMemory(plainHistory(), { saveContext: () => Promise.reject(new Error('disk full')) });
    world.models().script(textReply('ok'));
    const [item] = outputOf(await run(() => memory), 'Agent');
    expect(item?.json).toMatchObject({ output: 'ok', warnings: [{ code: 'MEMORY_NOT_SAVED' }] });
  });
});
