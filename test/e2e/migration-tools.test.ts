import type { Workflow } from '../../runtime/workflow-migration/contract';
import { attach, chain, main, node, workflow } from '../support/workflows/workflow-builder';
import {
  answer,
  branches,
  first,
  httpTool,
  prompts,
  set,
  start,
  tierSwitch,
} from '../support/workflows/workflow-parts';
import { connect } from './support/host';
import { loneAgent, TOOLS } from './support/lone-agent';
import { beforeAndAfter, filledIn, type MigrationWorld, observe, type Observed, startWorld } from './support/migration';

const PROMPTS = prompts('={{ $json.message }}', 'You are a clerk.');

let world: MigrationWorld;

beforeAll(async () => {
  world = await startWorld(await connect().catch(connect));
});
afterAll(() => world.close());

/** What the tools gave, as the model was told it in the last run. */
const results = (): readonly string[] =>
  world.received.flatMap(({ messages }) =>
    messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content)),
  );

/** The number of the item stands in its message, and so in the answer. */
const NUMBERED = set('Answer', {
  n: '={{ Number($json.output.match(/Message (\\d+)/)[1]) }}',
  answer: '={{ $json.output }}',
});

function threeBranches(version: string, tools: readonly string[], behind = NUMBERED): Workflow {
  const { parts, wires, agents } = branches(first(3), version, () => PROMPTS);
  const { part, pinData } = start(['optima', 'small', 'nano']);
  return workflow(`Tools of ${version}`, {
    parts: [
      part,
      tierSwitch('3.4', ['nano', 'small', 'optima']),
      ...parts,
      ...tools.flatMap((name) => TOOLS[name] ?? []),
      behind,
    ],
    wires: [
      ...chain('Start', 'Tier Router'),
      ...main('Tier Router', ...agents.map((name) => [name])),
      ...wires,
      ...tools.flatMap((name) => attach(name, 'ai_tool', agents)),
      ...agents.flatMap((name) => chain(name, 'Answer')),
    ],
    pinData,
  });
}

describe.each(['2.2', '3', '3.1'])('AI Agent %s', (version) => {
  it.each(Object.entries(TOOLS))(
    'behaves as before with the tool %s, for each of several items',
    async (_name, tool) => {
      const { before, after } = await beforeAndAfter(world, {
        workflow: loneAgent({ version, parameters: PROMPTS, tools: [tool] }),
      });
      expect(before.requests).toHaveLength(6);
      expect(after).toEqual(before);
      expect(results()).toHaveLength(3);
      expect(results().join('\n')).not.toMatch(/error/i);
    },
  );

  it('behaves as before behind a router', async () => {
    const { before, after } = await beforeAndAfter(world, {
      workflow: threeBranches(version, ['Find Orders', 'Shop Server', 'Calculator']),
    });
    expect(before.requests).toHaveLength(6);
    expect(after).toEqual(before);
  });
});

/** A tool that asks with a text of its own parameters. */
function asking(about: string): Workflow {
  const tool = httpTool('Find Orders');
  const parameters = { ...tool.parameters, queryParameters: { parameters: [{ name: 'about', value: about }] } };
  return loneAgent({ version: '3.1', parameters: PROMPTS, tools: [{ ...tool, parameters }] });
}
const askedAbout = ({ asked }: Observed): readonly (string | undefined)[] =>
  asked.map((line) => /about=(.*) $/.exec(line)?.[1]);

it('gives a tool that stays connected the fields of the item that asks for it', async () => {
  const { before, after } = await beforeAndAfter(world, {
    workflow: asking('={{ $json.sessionId }}-{{ $json.n }}'),
    tools: 'connected',
  });
  expect(askedAbout(before)).toEqual(['session-pro-3', 'session-small-1', 'session-small-2']);
  expect(after).toEqual(before);
});

describe('what AI Agent 3.x does by mistake, and the new node does not', () => {
  const numbers = ({ answers }: Observed): unknown => answers.Answer?.map((item) => (item as { n?: unknown }).n);

  it('after a tool call, it takes its items for those of the first output of the router', async () => {
    const { before, after } = await beforeAndAfter(world, {
      workflow: threeBranches('3.1', ['Find Orders'], answer()),
    });
    // The third item has gone through the first output.
    expect(numbers(before)).toEqual([3, 3, 3]);
    expect(numbers(after)).toEqual([1, 2, 3]);
    expect(after.requests).toEqual(before.requests);
  });

  it('in the parameters of a tool, too, it takes every item for the first one', async () => {
    const { before, after } = await beforeAndAfter(world, {
      workflow: asking("={{ $('Start').item.json.n }}"),
      tools: 'connected',
    });
    expect(askedAbout(before)).toEqual(['1', '1', '1']);
    expect(askedAbout(after)).toEqual(['1', '2', '3']);
  });

  it('but $node[…] is the first item in both', async () => {
    const { before, after } = await beforeAndAfter(world, {
      workflow: asking('={{ $node["Start"].json.n }}'),
      tools: 'connected',
    });
    expect(askedAbout(before)).toEqual(['1', '1', '1']);
    expect(after).toEqual(before);
  });

  it('it asks the model again for items that were answered, where another one needs a tool', async () => {
    const parameters = prompts('={{ $json.message }}', 'You have tools for pro only.');
    const tools = [httpTool('Find Orders')];
    const { before, after } = await beforeAndAfter(world, {
      workflow: loneAgent({ version: '3.1', parameters, tools }),
    });
    const questions = ({ requests }: Observed): readonly string[] => requests.flatMap(({ user }) => user).sort();
    const [one, two, three] = ['Message 1 of small', 'Message 2 of small', 'Message 3 of pro'];
    expect(questions(before)).toEqual([one, one, two, two, three, three]);
    expect(questions(after)).toEqual([one, two, three, three]);
    expect(after.answers).toEqual(before.answers);
  });

  it('it cannot call the first HTTP Request tool at all', async () => {
    const weather = node('weather', 'ai.toolHttpRequest@1.1', {
      toolDescription: 'Gives the weather of a city',
      url: 'http://tools.example.com/weather/{city}',
      placeholderDefinitions: { values: [{ name: 'city', description: 'Name of the city', type: 'string' }] },
    });
    const plain = loneAgent({ version: '3.1', parameters: PROMPTS, tools: [weather] });
    const original = filledIn(world, plain);
    expect((await observe(world, original)).asked).toEqual([]);
    expect(results()[0]).toContain('has a \\"supplyData\\" method but no \\"execute\\" method');
    const { after } = await beforeAndAfter(world, { workflow: plain });
    expect(after.asked).toEqual(Array.from({ length: 3 }, () => 'GET /weather/Ada '));
  });
});
