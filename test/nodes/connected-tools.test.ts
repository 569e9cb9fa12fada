import { DynamicStructuredTool, DynamicTool } from '@langchain/core/tools';
import type { INodeParameters, INodeType, IRun } from 'n8n-workflow';
import { z } from 'zod';

import { textReply, toolReply } from '../support/servers/model-server';
import { containing } from '../support/setup/matchers';
import { connectedWorld, NODE_TYPE } from '../support/worlds/connected-world';
import { outputOf } from '../support/worlds/n8n-engine';
import { nodeAsTool, subNodeType, type Wire } from '../support/worlds/sub-nodes';

const world = connectedWorld();

interface ToolNode {
  readonly name: string;
  readonly type: INodeType;
  readonly parameters?: INodeParameters;
  readonly to?: string;
  /** Its type's name, where that matters. */
  readonly typeName?: string;
}

function run(
  tools: readonly ToolNode[],
  given: { items?: object[]; type?: string; options?: object } = {},
): Promise<IRun> {
  const typeName = (tool: ToolNode, index: number) => tool.typeName ?? `test.tool${index}`;
  const wires = tools.map((tool, index): Wire => ({ output: 'ai_tool', ...tool, type: typeName(tool, index) }));
  return world.run({
    parameters: { options: { ...given.options } },
    node: { type: given.type ?? NODE_TYPE },
    wires,
    nodeTypes: Object.fromEntries(tools.map((tool, index) => [typeName(tool, index), tool.type])),
    items: given.items,
  });
}

const supplying = (name: string, supply: Parameters<typeof subNodeType>[1]): ToolNode => ({
  name,
  type: subNodeType('ai_tool', supply),
});
const weather = (name = 'weather') =>
  new DynamicStructuredTool({
    name,
    description: 'The weather of a city',
    schema: z.object({ city: z.string().describe('Its name'), days: z.number().int().min(1).optional() }),
    func: ({ city, days }) => Promise.resolve(`rain in ${city} for ${days ?? 1}`),
  });
/** By name: n8n gives them in an order of its own. */
const definitions = () =>
  (world.models().received.at(-1)?.tools ?? [])
    .map((tool) => tool.function)
    .sort((one, other) => one.name.localeCompare(other.name));
/** What the model was told of its calls. */
const told = (request = world.models().received.at(-1)) =>
  (request?.messages ?? [])
    .filter(({ role }) => role === 'tool')
    .map(({ content }) => JSON.parse(content ?? '') as unknown);

describe('the model is shown', () => {
  it("a structured tool of LangChain as n8n's own models show it", async () => {
    world.models().script(textReply('ok'));
    await run([supplying('Weather', () => weather())]);
    expect(definitions()).toEqual([
      {
        name: 'weather',
        description: 'The weather of a city',
        parameters: {
          type: 'object',
          properties: {
            city: { type: 'string', description: 'Its name' },
            days: { type: 'integer', minimum: 1 },
          },
          required: ['city'],
          additionalProperties: false,
          $schema: 'http://json-schema.org/draft-07/schema#',
        },
      },
    ]);
  });

  it('a tool that takes a text with one parameter, `input`', async () => {
    const shout = new DynamicTool({
      name: 'shout',
      description: 'Shouts',
      func: (input) => Promise.resolve(input.toUpperCase()),
    });
    const bare = { name: 'bare', description: 'Bare', invoke: () => Promise.resolve('') };
    world.models().script(toolReply([{ name: 'shout', arguments: { input: 'hey' } }]), textReply('ok'));
    await run([supplying('Shout', () => shout), supplying('Bare', () => bare)]);
    const input = { type: 'object', properties: { input: { type: 'string' } }, additionalProperties: false };
    expect(definitions()).toMatchObject([
      { name: 'bare', parameters: input },
      { name: 'shout', parameters: input },
    ]);
    expect(told()).toEqual(['HEY']);
  });

  it('the tools of toolkits, and JSON Schema as it is', async () => {
    const schema = { type: 'object', properties: { id: { $ref: '#/$defs/id' } }, $defs: { id: { enum: ['a', 'b'] } } };
    const tool = (name: string) => ({
      name,
      description: name,
      schema,
      invoke: (input: unknown) => Promise.resolve(input),
    });
    const [one, two] = [tool('one'), tool('two')];
    world.models().script(toolReply([{ name: 'two', arguments: { id: 'a' } }]), textReply('ok'));
    await run([
      supplying('Kit', () => ({ tools: [one], getTools: () => [one] })),
      supplying('Other Kit', () => ({ getTools: () => [two] })),
    ]);
    expect(definitions()).toEqual([
      { name: 'one', description: 'one', parameters: schema },
      { name: 'two', description: 'two', parameters: schema },
    ]);
    expect(told()).toEqual([{ id: 'a' }]);
  });

  it('an error for an integer that n8n would round, in place of its answer', async () => {
    const called = jest.fn(() => Promise.resolve('fine'));
    const schema = { type: 'object', properties: { id: { type: 'integer' } } };
    world.models().script(toolReply([{ name: 'find', arguments: '{"id":2512292042121000001}' }]), textReply('ok'));
    await run([supplying('Find', () => ({ name: 'find', description: 'Finds', schema, invoke: called }))]);
    expect(JSON.stringify(told())).toContain('the integer 2512292042121000001 is beyond 2^53');
    expect(called).not.toHaveBeenCalled();
  });
});

describe('a call', () => {
  const lookup = (seen: unknown[] = []): ToolNode => ({
    name: 'Look Up',
    type: nodeAsTool(
      function () {
        const json = { city: this.getNodeParameter('city', 0), shop: this.getNodeParameter('shop', 0) };
        seen.push(json);
        return Promise.resolve([[{ json }]] as never);
      },
      ['city', 'shop'],
    ),
    parameters: {
      toolDescription: 'Looks up',
      city: "={{ $fromAI('city', 'The city', 'string') }}",
      shop: '={{ $json.shop }}',
    },
  });

  it('of a node that n8n makes a tool of runs it, logged under its own name', async () => {
    world.models().script(toolReply([{ name: 'Look_Up', arguments: { city: 'Bern' } }]), textReply('ok'));
    const ran = await run([lookup()], { items: [{ shop: 'north' }] });
    expect(definitions()).toMatchObject([
      { name: 'Look_Up', description: 'Looks up', parameters: { required: ['city'] } },
    ]);
    expect(told()).toEqual([[{ city: 'Bern', shop: 'north' }]]);
    expect(ran.data.resultData.runData['Look Up']).toHaveLength(1);
    expect(outputOf(ran, 'Agent')[0]?.json.result).toMatchObject({ tool_calls: [{ tool: 'Look_Up' }] });
  });

  it('of each item has the parameters of that item', async () => {
    const tool = supplying('Shop', (context, index) => {
      const shop = context.evaluateExpression('{{ $json.shop }}', index) as string;
      return { name: 'shop', description: `Of ${shop}`, invoke: () => Promise.resolve(shop) };
    });
    const one = [toolReply([{ name: 'shop' }]), textReply('ok')];
    world.models().script(...one, ...one);
    await run([tool], { items: [{ shop: 'north' }, { shop: 'south' }] });
    expect(world.models().received.map((request) => request.tools?.[0]?.function.description)).toEqual([
      'Of north',
      'Of north',
      'Of south',
      'Of south',
    ]);
    expect(world.models().received.flatMap((request) => told(request))).toEqual(['north', 'south']);
  });

  it('of a node that n8n makes a tool of sees the item that it is called for', async () => {
    const seen: unknown[] = [];
    const type = nodeAsTool(
      function () {
        // Such a node knows one item only: what the model asks for.
        seen.push(['city', 'about'].map((name) => this.getNodeParameter(name, 0)));
        return Promise.resolve([[{ json: {} }]]);
      },
      ['city', 'about'],
    );
    const parameters = {
      city: "={{ $fromAI('city') }}",
      about: '={{ $json.about }}',
    };
    world
      .models()
      .script(
        ...['Oslo', 'Rome'].flatMap((city) => [toolReply([{ name: 'Guide', arguments: { city } }]), textReply('Done')]),
      );
    await run([{ name: 'Guide', type, parameters }], { items: [{ about: 'fjords' }, { about: 'ruins' }] });
    expect(seen).toEqual([
      ['Oslo', 'fjords'],
      ['Rome', 'ruins'],
    ]);
  });

  it('that fails is told to the model, with what n8n says of it', async () => {
    const failing = (thrown: Error) => ({ description: 'Fails', invoke: () => Promise.reject(thrown) });
    const described = Object.assign(new Error('Bad request'), { description: 'the city is unknown' });
    world.models().script(toolReply([{ name: 'one' }, { name: 'two' }]), textReply('ok'));
    const ran = await run([
      supplying('One', () => ({ name: 'one', ...failing(described) })),
      supplying('Two', () => ({ name: 'two', ...failing(new TypeError('no fetch')) })),
    ]);
    expect(told()).toMatchObject([
      { error: { code: 'TOOL_FAILED', message: containing('Bad request: the city is unknown') } },
      { error: { code: 'TOOL_FAILED', message: containing('no fetch') } },
    ]);
    expect(outputOf(ran, 'Agent')[0]?.json.output).toBe('ok');
  });

  it('that answers at once, or throws nothing, is told to the model all the same', async () => {
    const odd = { name: 'odd', description: 'Odd', schema: null };
    world.models().script(toolReply([{ name: 'odd' }]), textReply('ok'));
    outputOf(await run([supplying('Odd', () => ({ ...odd, invoke: () => 'at once' }))]), 'Agent');
    expect(told()).toEqual(['at once']);
    world.models().script(toolReply([{ name: 'odd' }]), textReply('ok'));
    const invoke = jest.fn().mockRejectedValue(undefined);
    outputOf(await run([supplying('Odd', () => ({ ...odd, invoke }))]), 'Agent');
    expect(told()).toMatchObject([{ error: { code: 'TOOL_FAILED', message: containing('failed: undefined') } }]);
  });

  it('gets the signal that stops the run', async () => {
    const signals: unknown[] = [];
    const invoke = (_input: unknown, options: { signal: AbortSignal }) => {
      signals.push(options.signal);
      return Promise.resolve('done');
    };
    world.models().script(toolReply([{ name: 'one' }]), textReply('ok'));
    await run([supplying('One', () => ({ name: 'one', description: 'One', invoke }))]);
    expect(signals).toEqual([expect.any(AbortSignal)]);
  });

  it('follows the rules of the node', async () => {
    world.models().script(textReply('ok'));
    await run([supplying('Weather', () => weather()), supplying('Other', () => weather('other'))], {
      options: { disabledTools: ['weather'] },
    });
    expect(definitions().map(({ name }) => name)).toEqual(['other']);
  });
});

describe('what is connected and cannot be called', () => {
  it.each<[string, unknown, string]>([
    ['no tool at all', { name: 'store' }, '"store"'],
    ['nothing', undefined, 'without a name'],
  ])('fails the item: %s', async (_what, given, message) => {
    const ran = await run([supplying('Odd', () => given)]);
    expect(ran.data.resultData.error).toMatchObject({ message: containing(message) });
    expect(world.models().received).toEqual([]);
  });

  it('fails the item: a tool whose calls a person has to approve', async () => {
    const gate = nodeAsTool(() => Promise.resolve([[]]));
    const ran = await run([
      { name: 'Ask Me', type: gate, typeName: 'test.askHitlTool' },
      { ...supplying('Weather', () => weather()), to: 'Ask Me' },
    ]);
    expect(ran.data.resultData.error).toMatchObject({ message: containing('"weather"') });
    expect(ran.data.resultData.error?.message).toContain('asks a person');
    expect(world.models().received).toEqual([]);
  });
});

it('two tools of one name are both offered, each with its own answer', async () => {
  const tool = (answer: string) => ({ name: 'find', description: answer, invoke: () => Promise.resolve(answer) });
  world.models().script(textReply('ok'));
  const tools = [supplying('A', () => tool('from A')), supplying('B', () => tool('from B'))];
  await run(tools);
  const names = definitions().map(({ name }) => name);
  expect(new Set(names).size).toBe(2);
  world.models().script(toolReply(names.map((name) => ({ name }))), textReply('ok'));
  await run(tools);
  expect(told()).toEqual(definitions().map(({ description }) => description));
});

it('as a tool of another agent the node has none', async () => {
  world.models().script(textReply('ok'));
  await run([supplying('Weather', () => weather())], { type: `${NODE_TYPE}Tool` });
  expect(definitions()).toEqual([]);
  expect(world.models().received).toHaveLength(1);
});
