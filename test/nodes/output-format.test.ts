import type { INode, INodeParameters, IRun } from 'n8n-workflow';
import { z } from 'zod';

import { textReply, toolReply } from '../support/servers/model-server';
import { connectedWorld, NODE_TYPE } from '../support/worlds/connected-world';
import { outputOf } from '../support/worlds/n8n-engine';
import { subNodeType } from '../support/worlds/sub-nodes';

const TOOL = 'format_final_json_response';
const PERSON = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };

const world = connectedWorld();

interface FormatRun {
  readonly parameters?: INodeParameters;
  readonly parser?: object;
  readonly node?: Partial<INode>;
}

function run({ parameters = {}, parser, node = {} }: FormatRun): Promise<IRun> {
  const wires =
    parser === undefined ? [] : [{ name: 'Parser', type: 'test.parser', output: 'ai_outputParser' as const }];
  const nodeTypes = { 'test.parser': subNodeType('ai_outputParser', () => parser) };
  return world.run({
    parameters: { systemPrompt: 'Be kind.', message: 'Who?', hasOutputParser: true, ...parameters },
    node,
    wires,
    nodeTypes,
  });
}

const first = (ran: IRun, output = 0) => outputOf(ran, 'Agent', output)[0]?.json;
const answered = (given: unknown) => toolReply([{ name: TOOL, arguments: given }]);
const outputSchema = JSON.stringify(PERSON);

/** What n8n's structured parser gives: the answer stands under `output`, and its error goes through the third argument. */
function structuredParser(schema = z.object({ output: z.object({ name: z.string() }) })) {
  const texts: string[] = [];
  const parse = async (text: string, _callbacks: unknown, mapError: (error: unknown) => Error): Promise<unknown> => {
    texts.push(text);
    try {
      return await schema.parseAsync(JSON.parse(text));
    } catch (error) {
      throw mapError(error);
    }
  };
  return { parse, getSchema: () => schema, getFormatInstructions: () => '', texts };
}

describe('a JSON Schema', () => {
  it('gives the value as output, and asks for it through a tool', async () => {
    world.models().script(answered({ name: 'Ann' }));
    expect(first(await run({ parameters: { outputSchema } }))).toMatchObject({
      output: { name: 'Ann' },
      structured_output: { name: 'Ann' },
      result: { text: '{"name":"Ann"}', tool_calls: [] },
    });
    const [sent] = world.models().received;
    expect(sent?.tools?.at(-1)?.function).toMatchObject({ name: TOOL, parameters: PERSON });
    expect(sent?.messages[0]?.content).toMatch(
      /^Be kind\.\n\nYour final answer must be a call of the tool format_final_json_response/,
    );
  });

  it('may be an object of an expression', async () => {
    world.models().script(textReply('{"name":"Ann"}'));
    const ran = await run({ parameters: { outputSchema: '={{ ({ type: "object", required: ["name"] }) }}' } });
    expect(first(ran)?.output).toEqual({ name: 'Ann' });
  });

  it('has a wrong answer asked for once more, then the item fails with it', async () => {
    world.models().script(answered({ nam: 'Ann' }), answered({ name: 'Ann' }));
    expect(first(await run({ parameters: { outputSchema } }))).toMatchObject({
      output: { name: 'Ann' },
      iterations: 2,
    });
    expect(world.models().received[1]?.messages.at(-1)?.content).toContain("must have required property 'name'");

    world.models().script(textReply('Ann'), textReply('Ann!'));
    const failed = first(await run({ parameters: { outputSchema }, node: { onError: 'continueErrorOutput' } }), 1);
    expect(failed).toMatchObject({ error: { code: 'OUTPUT_INVALID' }, result: { text: 'Ann!' }, iterations: 2 });
  });

  it('is what counts beside a connected parser', async () => {
    const parser = structuredParser();
    world.models().script(answered({ name: 'Ann' }));
    expect(first(await run({ parameters: { outputSchema }, parser }))?.output).toEqual({ name: 'Ann' });
    expect(parser.texts).toEqual([]);
  });

  it('works as a tool of another agent too', async () => {
    world.models().script(answered({ name: 'Ann' }));
    const ran = await run({ parameters: { outputSchema }, node: { type: `${NODE_TYPE}Tool` } });
    expect(first(ran)?.output).toEqual({ name: 'Ann' });
  });
});

describe('a connected parser', () => {
  it('shows its schema and gives what stands under output', async () => {
    const parser = structuredParser();
    world.models().script(answered({ output: { name: 'Ann' } }));
    expect(first(await run({ parser }))).toMatchObject({ output: { name: 'Ann' }, structured_output: { name: 'Ann' } });
    expect(world.models().received[0]?.tools?.at(-1)?.function.parameters).toMatchObject({
      type: 'object',
      properties: { output: { type: 'object', properties: { name: { type: 'string' } } } },
    });
    expect(parser.texts).toEqual(['{"output":{"name":"Ann"}}']);
  });

  it('is given a text as if it stood under output', async () => {
    const parser = structuredParser();
    world.models().script(textReply('{"name":"Ann"}'));
    expect(first(await run({ parser }))?.output).toEqual({ name: 'Ann' });
    expect(parser.texts).toEqual(['{"output":{"name":"Ann"}}']);
  });

  it('tells the model what is wrong, in the words of its schema', async () => {
    world.models().script(answered({ output: { name: 7 } }), answered({ output: { name: 'Ann' } }));
    expect(first(await run({ parser: structuredParser() }))?.output).toEqual({ name: 'Ann' });
    expect(world.models().received[1]?.messages.at(-1)?.content).toContain(
      'output.name: Expected string, received number',
    );
  });

  it('without a schema reads the text of the answer', async () => {
    const parse = (text: string): Promise<string[]> => Promise.resolve(text.split('\n'));
    const parser = { parse, getSchema: () => undefined, getFormatInstructions: () => 'One a line.' };
    world.models().script(answered({ text: 'a\nb' }));
    expect(first(await run({ parser }))?.output).toEqual(['a', 'b']);
    expect(world.models().received[0]?.messages[0]?.content).toMatch(/One a line\.$/);
    world.models().script(textReply('c\nd'));
    expect(first(await run({ parser }))?.output).toEqual(['c', 'd']);
  });

  it('is not asked as long as no format is required', async () => {
    world.models().script(textReply('Ann'));
    const ran = await run({ parser: structuredParser(), parameters: { hasOutputParser: false } });
    expect(first(ran)?.output).toBe('Ann');
    expect(world.models().received[0]).not.toHaveProperty('tools');
  });
});

it.each([
  ['nothing', {}],
  ['a schema that is none', { parameters: { outputSchema: '{ "type": ' } }],
  ['what is no parser', { parser: {} }],
])('%s to go by is refused before a model is asked', async (_what, given: FormatRun) => {
  const { error } = (await run(given)).data.resultData;
  expect(error).toMatchObject({ description: expect.stringContaining('(OUTPUT_FORMAT_INVALID)') as unknown });
  expect(world.models().received).toEqual([]);
});
