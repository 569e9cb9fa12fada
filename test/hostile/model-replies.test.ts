import '../support/setup/errors-of-node';

import type { ServerResponse } from 'node:http';

import { addMcpServer, addTenant, useMcpServer } from '../support/servers/database';
import { sendJson } from '../support/servers/http-server';
import { startMcpServer } from '../support/servers/mcp-server';
import { textReply, toolReply } from '../support/servers/model-server';
import {
  callReply,
  COST_OF_ONE,
  hostileWorld,
  rawReply,
  told,
  toldCodes,
  warned,
} from '../support/worlds/hostile-world';

const world = hostileWorld();
const { attack } = world;
const DONE = textReply('Done');

describe('arguments', () => {
  it.each([
    ['an empty text', '', {}],
    ['blanks', ' \n\t ', {}],
    ['an empty list', '[]', {}],
    ['null as text', 'null', {}],
    ['null', null, {}],
    ['an object instead of a text', { q: 'x' }, { q: 'x' }],
    ['a fenced object', '```json\n{"q":"x"}\n```', { q: 'x' }],
    ['an empty fence', '```\n```', {}],
  ])('case 01: %s as arguments is understood, and the tool called once', async (_what, given, expected) => {
    const { result, executed, sent } = await attack({
      tools: [{ code: 'find' }],
      replies: [callReply('find', given), DONE],
    });
    expect(executed.map((call) => call.arguments)).toEqual([expected]);
    expect(result).toMatchObject({
      status: 'completed',
      result: { text: 'Done', tool_calls: [{ arguments: expected }] },
    });
    // What goes back to the provider is an object too, whatever the model wrote.
    const echoed = sent[1]?.messages.at(-2)?.tool_calls?.[0]?.function.arguments ?? '';
    expect(JSON.parse(echoed.replace(/^```(json)?|```$/g, '') || '{}')).toEqual(expected);
  });

  it.each([
    ['a trailing comma', '{"q": 1,}', /position 8/],
    ['two objects', '{"q": 1} {"q": 2}', /position 9/],
    ['a word', 'find the parts', /position 1|"find the/],
    ['an unquoted value', '{"q": parts}', /position 6|parts/],
    ['single quotes', "{'q': 'x'}", /position 1/],
    ['a cut object', '{"q": "x"', /position 9/],
    ['a text', '"x"', /must be a JSON object/],
    ['a full list', '[{"q":1}]', /must be a JSON object/],
    ['a number', 7, /must be a JSON object/],
    ['ten thousand levels', `{"q":${'['.repeat(10_000)}${']'.repeat(10_000)}}`, /nested deeper than 200/],
  ])('case 01: %s as arguments runs nothing, and the model is told where it is wrong', async (_what, given, where) => {
    const aftermath = await attack({ tools: [{ code: 'find' }], replies: [callReply('find', given), DONE] });
    expect(aftermath.executed).toEqual([]);
    expect(toldCodes(aftermath)).toEqual(['TOOL_INVALID_ARGS']);
    expect(told(aftermath)[0]).toMatch(where);
    expect(aftermath.result).toMatchObject({ status: 'completed', iterations: 2 });
    // Providers refuse a transcript whose arguments are no JSON object.
    expect(aftermath.sent[1]?.messages.at(-2)?.tool_calls?.[0]?.function.arguments).toBe('{}');
    expect(aftermath.executions).toMatchObject([{ decision: 'deny', is_error: true, code: 'TOOL_INVALID_ARGS' }]);
  });

  const SCHEMA = {
    type: 'object',
    properties: { order: { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] } },
    required: ['order'],
  };

  it('case 02: arguments against the schema are not sent, and the model is told the paths', async () => {
    const calls = [{}, { order: {} }, { order: { id: '7' } }, { order: { id: 7 } }];
    const aftermath = await attack({
      tools: [{ code: 'cancel', schema: SCHEMA }],
      replies: [toolReply(calls.map((given) => ({ name: 'cancel', arguments: given }))), DONE],
    });
    expect(aftermath.executed.map((call) => call.arguments)).toEqual([{ order: { id: 7 } }]);
    const [nothing, noId, text, fine] = told(aftermath);
    expect(nothing).toContain("must have required property 'order'");
    expect(noId).toContain("order must have required property 'id'");
    expect(text).toContain('order.id must be integer');
    expect(fine).toBe('{"got":{"order":{"id":7}}}');
    expect(Math.max(...told(aftermath).map((message) => message.length))).toBeLessThan(400);
  });

  it('case 02: a model that never gets them right is stopped after five steps, all of them billed', async () => {
    const wrong = toolReply([{ name: 'cancel', arguments: { order: 1 } }]);
    const { error, executed, sent, bill } = await attack({
      tools: [{ code: 'cancel', schema: SCHEMA }],
      replies: Array.from({ length: 9 }, () => wrong),
    });
    expect(error).toMatchObject({ code: 'TOOL_ERRORS_REPEATED', details: { count: 5, lastCode: 'TOOL_INVALID_ARGS' } });
    expect(executed).toEqual([]);
    expect(sent).toHaveLength(5);
    expect(bill).toMatchObject([{ model_calls: 5, total_tokens: 600, cost_usd: (5 * COST_OF_ONE).toFixed(8) }]);
  });
});

describe('names and ids', () => {
  it.each([
    ['in another case', 'Find_Orders'],
    ['with a blank behind it', 'find_orders '],
    ['in a namespace', 'functions.find_orders'],
    ['with another dash', 'find-orders'],
    ['with a zero-width space', 'find_orders\u200b'],
    ['with a letter of another alphabet', 'find_оrders'],
    ['of the prototype', '__proto__'],
    ['of every object', 'constructor'],
    ['that is empty', ''],
    ['that is no text', 7],
    ['of a megabyte', 'x'.repeat(1_000_000)],
  ])('case 03: a tool name %s runs nothing like it, and the names that exist are told', async (_what, name) => {
    const aftermath = await attack({
      tools: [{ code: 'find_orders' }, { code: 'other' }],
      replies: [callReply(name, '{}'), DONE],
    });
    expect(aftermath.executed).toEqual([]);
    expect(toldCodes(aftermath)).toEqual(['TOOL_NOT_FOUND']);
    expect(told(aftermath)[0]).toContain('Available tools: find_orders, other.');
    expect(told(aftermath)[0]?.length).toBeLessThan(1000);
    expect(aftermath.sent[1]?.messages.at(-2)?.tool_calls?.[0]?.function.name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
  });

  it('case 03: of very many tools thirty are named', async () => {
    const tools = Array.from({ length: 41 }, (_, index) => ({ code: `t${index}` }));
    const aftermath = await attack({ tools, replies: [callReply('t', '{}'), DONE] });
    expect(told(aftermath)[0]).toContain('t29 and 11 more.');
  });

  it('case 04: a repeated or missing tool_call_id is answered exactly once', async () => {
    const call = (id: unknown, n: number): object => ({
      ...(id === undefined ? {} : { id }),
      type: 'function',
      function: { name: 'book', arguments: JSON.stringify({ n }) },
    });
    const turn = (ids: readonly unknown[], from: number): { body: object } =>
      rawReply({ role: 'assistant', content: null, tool_calls: ids.map((id, index) => call(id, from + index)) });
    const { executed, sent, executions } = await attack({
      tools: [{ code: 'book' }],
      replies: [turn(['a', 'a', '', undefined, null, 7], 1), turn(['a', 'call_1_1', 'a\0'], 7), DONE],
    });
    expect(executed.map(({ arguments: { n } }) => n).sort((a, b) => Number(a) - Number(b))).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8, 9,
    ]);
    const { messages = [] } = sent.at(-1) ?? {};
    const asked = messages.flatMap((message) => message.tool_calls ?? []);
    const answered = messages.filter(({ role }) => role === 'tool');
    expect(new Set(asked.map(({ id }) => id)).size).toBe(9);
    expect(answered.map((message) => message.tool_call_id)).toEqual(asked.map(({ id }) => id));
    // Each answer belongs to the call whose id it has.
    expect(answered.map(({ content }) => content)).toEqual(asked.map((one) => `{"got":${one.function.arguments}}`));
    expect(executions.map((row) => row.tool_call_id).sort()).toEqual(asked.map(({ id }) => id).sort());
  });

  it.each([[33], [2000]])(
    'case 05: of %i calls in one turn 32 run, eight at a time, and every one is answered',
    async (count) => {
      let running = 0;
      let most = 0;
      const waiting: ServerResponse[] = [];
      world.answer((_request, response) => {
        most = Math.max(most, ++running);
        waiting.push(response);
        if (waiting.length < 8) return;
        running -= waiting.length;
        for (const one of waiting.splice(0)) sendJson(one, 'ok');
      });
      const calls = Array.from({ length: count }, (_, n) => ({ name: 'send', arguments: { n }, id: `c${n}` }));
      const aftermath = await attack({ tools: [{ code: 'send' }], replies: [toolReply(calls), DONE] });
      expect(aftermath.executed).toHaveLength(32);
      expect(most).toBe(8);
      expect(toldCodes(aftermath)).toEqual(calls.map((_call, n) => (n < 32 ? undefined : 'TOOL_CALL_LIMIT')));
      expect(aftermath.executions.filter(({ decision }) => decision === 'allow')).toHaveLength(32);
    },
  );

  it.each([
    ['a letter of another alphabet', 'ѕend_mail'],
    ['text that runs backwards', 'send\u202eliam'],
    ['a control character', 'send\u0007mail'],
    ['a zero-width joiner', 'send\u200dmail'],
    ['a line break', 'send\nmail'],
    ['a quote', 'send"mail'],
    ['nothing', ''],
    ['an emoji', 'send📧mail'],
  ])('case 44: a row whose code has %s is not offered, and the others are', async (_what, code) => {
    const { sent, executed, result } = await attack({
      tools: [{ code }, { code: 'send_mail' }],
      replies: [callReply(code, '{}'), DONE],
    });
    expect(sent[0]?.tools?.map((tool) => tool.function.name)).toEqual(['send_mail']);
    expect(warned({ result })).toEqual(['TOOL_SKIPPED']);
    expect(executed).toEqual([]);
  });

  it('case 44: names of a server are mapped to what providers take, and back', async () => {
    const names = ['отчёт/дата', 'report.date', 'report date', 'y'.repeat(180)];
    const hidden = ['rep\u202eort', 'rep\u0007ort', 'rep\u200bort', 'x'.repeat(300)];
    const server = await startMcpServer({
      tools: () => [...hidden, ...names].map((name) => ({ name, description: 'Reports' })),
      answer: ({ name }) => ({ content: [{ type: 'text', text: `this is ${name}` }] }),
    });
    const { database } = world.fixture();
    const tenantId = await addTenant(database);
    await useMcpServer(database, {
      tenantId,
      serverId: await addMcpServer(database, { code: 'odd', url: server.url }),
    });
    const all = (request: { tools?: readonly { function: { name: string } }[] }): { name: string }[] =>
      (request.tools ?? []).map((tool) => ({ name: tool.function.name }));
    const { sent, result } = await attack({
      tenantId,
      replies: [(request, response) => sendJson(response, toolReply(all(request)).body), DONE],
    });
    await server.close();
    const offered = all(sent[0] ?? {}).map(({ name }) => name);
    expect(new Set(offered).size).toBe(names.length);
    for (const name of offered) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(server.calls.map(({ name }) => name).sort()).toEqual([...names].sort());
    expect(result?.result.tool_calls.map((call) => call.result)).toEqual(names.map((name) => `this is ${name}`));
    expect(warned({ result })).toEqual(['MCP_TOOLS_SKIPPED', 'MCP_TOOLS_SKIPPED']);
  });
});

describe('the end of a run', () => {
  const again = (n: number): { readonly body: unknown } => toolReply([{ name: 'look', arguments: { n } }]);
  const replies = [again(1), again(2), textReply('What I have'), textReply('too late')];

  it.each([
    ['error', { text: '', calls: 2, code: 'MAX_ITERATIONS_REACHED' }],
    ['partial', { text: '', calls: 2, code: undefined }],
    ['finalAnswer', { text: 'What I have', calls: 3, code: undefined }],
  ])('case 07: at the limit of steps, with %s, the steps and the bill so far come back', async (mode, expected) => {
    const { result, error, sent, executed, bill, state } = await attack({
      tools: [{ code: 'look' }],
      replies,
      config: { max_iterations: 2, on_max_iterations: mode },
    });
    expect(error?.code).toBe(expected.code);
    expect(result).toMatchObject({
      status: 'max_iterations',
      iterations: expected.calls,
      result: { text: expected.text },
    });
    expect(result?.result.tool_calls.map((call) => call.arguments)).toEqual([{ n: 1 }, { n: 2 }]);
    expect(executed).toHaveLength(2);
    expect(sent).toHaveLength(expected.calls);
    if (mode === 'finalAnswer') expect(sent[2]).toMatchObject({ tool_choice: 'none' });
    expect(bill).toMatchObject([{ model_calls: expected.calls, cost_usd: (expected.calls * COST_OF_ONE).toFixed(8) }]);
    expect(state).toBe(expected.code === undefined ? 'done' : 'failed');
  });

  it('case 07: tools that are called in the last call, which has none, are not run', async () => {
    const { executed, result, sent } = await attack({
      tools: [{ code: 'look' }],
      replies: [again(1), again(2), again(3), again(4)],
      config: { max_iterations: 2, on_max_iterations: 'finalAnswer' },
    });
    expect(executed.map((call) => call.arguments)).toEqual([{ n: 1 }, { n: 2 }]);
    expect(sent).toHaveLength(3);
    expect(result).toMatchObject({ status: 'max_iterations', result: { text: '' } });
  });

  it.each([
    ['cut', '{"to":"all","text":"Dear', 'length'],
    ['whole by chance', '{"to":"all"}', 'length'],
    ['cut, in the words of another provider', '{"to"', 'max_tokens'],
  ])(
    'case 08: arguments that are %s at the token limit are not run; the model is told to be shorter',
    async (...[, given, reason]) => {
      const aftermath = await attack({ tools: [{ code: 'mail' }], replies: [callReply('mail', given, reason), DONE] });
      expect(aftermath.executed).toEqual([]);
      expect(toldCodes(aftermath)).toEqual(['TOOL_ARGUMENTS_TRUNCATED']);
      expect(told(aftermath)[0]).toContain('shorter arguments');
      expect(aftermath.bill).toMatchObject([{ model_calls: 2, total_tokens: 240 }]);
    },
  );

  it('case 08: a model that is cut again and again is stopped', async () => {
    const { error, executed, sent } = await attack({
      tools: [{ code: 'mail' }],
      replies: Array.from({ length: 9 }, (_, n) => callReply('mail', `{"n":${n},"text":"`, 'length')),
    });
    expect(error).toMatchObject({ code: 'TOOL_ERRORS_REPEATED', details: { lastCode: 'TOOL_ARGUMENTS_TRUNCATED' } });
    expect(executed).toEqual([]);
    expect(sent).toHaveLength(5);
  });

  const EMPTY: [string, unknown][] = [
    ['null', null],
    ['an empty text', ''],
    ['blanks', ' \n'],
    ['nothing but thoughts', '<think>Hm.</think>'],
    ['an empty list of parts', []],
    ['an object', { text: 'x' }],
  ];

  it.each(EMPTY)('case 09: a reply of %s is asked for once more, then it is an error', async (_what, content) => {
    const empty = rawReply({ role: 'assistant', content });
    const { error, result, sent, bill } = await attack({ tools: [{ code: 'look' }], replies: [empty, empty, DONE] });
    expect(error).toMatchObject({ code: 'LLM_EMPTY_REPLY', retryable: true });
    expect(sent).toHaveLength(2);
    expect(sent[1]?.messages).toEqual(sent[0]?.messages);
    expect(result).toMatchObject({ status: 'failed', iterations: 2, tokens: { total: 240 } });
    expect(bill).toMatchObject([{ model_calls: 2, total_tokens: 240 }]);
  });

  it('case 09: a second try that answers is the answer, and both are billed', async () => {
    const { result, bill } = await attack({ replies: [rawReply({ role: 'assistant', content: null }), DONE] });
    expect(result).toMatchObject({ status: 'completed', result: { text: 'Done' } });
    expect(bill).toMatchObject([{ model_calls: 2, total_tokens: 240 }]);
  });
});
