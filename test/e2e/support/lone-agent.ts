import type { JsonObject } from '../../../runtime/util/json';
import { attach, chain, node, type Part, type Wire, workflow } from '../../support/workflows/workflow-builder';
import {
  agent,
  answer,
  colleague,
  FIVE,
  httpTool,
  openRouter,
  shopServer,
  start,
  type WorkflowFixture,
} from '../../support/workflows/workflow-parts';

/** One agent on a model that is a tier, three items, and the node that keeps the answers. */
export interface LoneAgent {
  readonly version: string;
  readonly parameters: JsonObject;
  /** Settings of the node itself. */
  readonly settings?: JsonObject;
  readonly options?: JsonObject;
  readonly tools?: readonly Part[];
  readonly parser?: Part;
  readonly behind?: readonly Part[];
  readonly wires?: readonly Wire[];
}

const WHOLE_ITEM = answer('Answer', '={{ JSON.stringify($json) }}');

export function loneAgent(shape: LoneAgent): WorkflowFixture['workflow'] {
  const { version, parameters, settings = {}, options = {}, tools = [], parser, behind = [WHOLE_ITEM], wires } = shape;
  const { part, pinData } = start(['small', 'small', 'pro']);
  const model = openRouter('Model', 'openai/gpt-4o-mini', { ...FIVE[3]?.options, ...options });
  const parsers = parser === undefined ? [] : [parser];
  return workflow(`Agent ${version} alone`, {
    parts: [part, { ...agent('AI Agent', version, parameters), ...settings }, model, ...tools, ...parsers, ...behind],
    wires: [
      ...chain('Start', 'AI Agent', 'Answer'),
      ...attach('Model', 'ai_languageModel', ['AI Agent']),
      ...tools.flatMap(({ name }) => attach(name, 'ai_tool', ['AI Agent'])),
      ...parsers.flatMap(({ name }) => attach(name, 'ai_outputParser', ['AI Agent'])),
      ...(wires ?? []),
    ],
    pinData,
  });
}

export const shout = (): Part =>
  node('shout', 'ai.toolCode@1.1', {
    name: 'shout',
    description: 'Gives a text back in capital letters',
    jsCode: 'return query.toUpperCase();',
  });

/** One of each kind of tool, by its name. */
export const TOOLS: Readonly<Record<string, Part>> = {
  'Find Orders': httpTool('Find Orders'),
  'Shop Server': shopServer(),
  'Call Colleague': colleague(),
  shout: shout(),
  Calculator: node('Calculator', 'ai.toolCalculator@1'),
};

const CITY = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };

/** The first versions had one field for the schema. */
export const structuredParser = (version: string): Part =>
  node(
    'Parser',
    `ai.outputParserStructured@${version}`,
    Number(version) < 1.2
      ? { jsonSchema: JSON.stringify(CITY) }
      : { schemaType: 'manual', inputSchema: JSON.stringify(CITY) },
  );
