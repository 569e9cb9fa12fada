import { startStandInModel } from '../../examples/demo/stand-in-model.mjs';

type Message = Readonly<Record<string, unknown>>;

const user = (content: string): Message => ({ role: 'user', content });
const tool = (name: string, ...properties: string[]) => ({
  type: 'function',
  function: {
    name,
    parameters: { properties: Object.fromEntries(properties.map((key) => [key, { type: 'string' }])) },
  },
});
const TOOLS = [tool('find_orders', 'customer'), tool('MCP_Client_delivery_estimate', 'city')];

let model: Awaited<ReturnType<typeof startStandInModel>>;
beforeAll(async () => {
  model = await startStandInModel();
});
afterAll(() => model.close());

function post(body: object): Promise<Response> {
  return fetch(`${model.url}/chat/completions`, { method: 'POST', body: JSON.stringify(body) });
}

async function ask(messages: readonly Message[], tools: readonly object[] = TOOLS): Promise<unknown> {
  const reply = (await (await post({ model: 'a/b', messages, tools })).json()) as { choices: { message: Message }[] };
  const { content, tool_calls: calls } = reply.choices[0]?.message ?? {};
  const [call] = (calls ?? []) as { function: { name: string; arguments: string } }[];
  return call === undefined ? content : [call.function.name, JSON.parse(call.function.arguments)];
}

function called(name: string, id: string, result: unknown): readonly Message[] {
  return [
    { role: 'assistant', content: null, tool_calls: [{ id, function: { name, arguments: '{}' } }] },
    { role: 'tool', tool_call_id: id, content: JSON.stringify(result) },
  ];
}

const QUESTION = user('Which orders does Eve have, and when are they delivered to Oslo?');
const ORDERS = called('find_orders', '1', { customer: 'Eve', orders: [{ item: 'bell', state: 'sent' }] });

describe('the stand-in model of the demo', () => {
  it('calls the tools that the question is about, one after the other, for whom and where it is asked', async () => {
    expect(await ask([QUESTION])).toEqual(['find_orders', { customer: 'Eve' }]);
    expect(await ask([QUESTION, ...ORDERS])).toEqual(['MCP_Client_delivery_estimate', { city: 'Oslo' }]);
  });

  it('says what tools found as a sentence, also a tool that it does not know', async () => {
    expect(await ask([QUESTION, ...ORDERS], TOOLS.slice(0, 1))).toBe('Eve has one order: a bell (sent).');
    const stock = called('stock_level', '1', { bells: 4, in_store: ['Oslo', 'Rome'] });
    expect(await ask([user('What is in stock?'), ...stock], [])).toBe(
      'stock_level says: bells 4, in store Oslo and Rome.',
    );
  });

  it('understands what the MCP Client of n8n hands on', async () => {
    const content = { type: 'text', text: JSON.stringify({ city: 'Oslo', days: 2 }) };
    const estimate = called('MCP_Client_delivery_estimate', '1', { response: [content] });
    expect(await ask([user('When does it reach Oslo?'), ...estimate])).toBe('A delivery reaches Oslo in 2 days.');
  });

  it('remembers what was asked before', async () => {
    const before = [QUESTION, ...ORDERS, { role: 'assistant', content: 'One.' }];
    expect(await ask([...before, user('What did I ask before?')])).toContain('Which orders does Eve have');
    expect(await ask([...before, user('And their orders?')])).toEqual(['find_orders', { customer: 'Eve' }]);
  });

  it('says that it is a stand-in where it knows no answer', async () => {
    expect(await ask([user('Write a poem.')])).toContain('I am a local stand-in for a model');
  });

  it('streams when it is asked to, lists its models, and survives a request that is none', async () => {
    const streamed = await (await post({ model: 'a/b', messages: [user('Hi')], stream: true })).text();
    expect(streamed).toMatch(/^data: \{.*"delta":\{.*I have no tools here.*\n\ndata: [^]*\n\ndata: \[DONE\]\n\n$/);
    const { data } = (await (await fetch(`${model.url}/models`)).json()) as { data: readonly { id: string }[] };
    expect(data.map(({ id }) => id)).toEqual(['local-stand-in']);
    const broken = await fetch(`${model.url}/chat/completions`, { method: 'POST', body: '{' });
    expect(broken.status).toBe(400);
  });
});
