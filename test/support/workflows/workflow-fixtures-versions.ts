import type { JsonObject } from '../../../runtime/util/json';
import { main, type Part, workflow } from './workflow-builder';
import {
  answer,
  branches,
  type BranchModel,
  expressionSwitch,
  first,
  prompts,
  start,
  tierSwitch,
  type WorkflowFixture,
} from './workflow-parts';

/** Agents before 1.6 are conversational by default: prompts of their own, no tools API. */
const CONVERSATIONAL = ['1', '1.1', '1.2', '1.3', '1.4', '1.5'];
const AGENTS = [...CONVERSATIONAL, '1.6', '1.7', '1.8', '1.9', '2', '2.1', '2.2', '3', '3.1'];
const SWITCHES = ['1', '2', '3', '3.1', '3.2', '3.3', '3.4'];

/** One workflow for each version of the agent, the versions of Switch in turn; and Switch by expression, each version. */
export function versionFixtures(): Record<string, WorkflowFixture> {
  const agents = AGENTS.map((version, index) => {
    const router = tierSwitch(SWITCHES[index % SWITCHES.length] ?? '', ['nano', 'small', 'optima']);
    const fixture = threeBranches(`Agent ${version}`, router, { version, parameters: agentParameters(version) });
    return [`agent-${version}`, { ...fixture, ...(CONVERSATIONAL.includes(version) ? { allow: ['agent-kind'] } : {}) }];
  });
  const switches = SWITCHES.map((version) => [
    `switch-${version}-expression`,
    threeBranches(`Switch ${version} by expression`, expressionSwitch(version, 3), { version: '3', parameters: plain }),
  ]);
  return Object.fromEntries([...agents, ...switches]) as Record<string, WorkflowFixture>;
}

type Parameters = (branch: BranchModel) => JsonObject;

const plain: Parameters = ({ tier }) => prompts('={{ $json.message }}', `You answer for ${tier}.`);

/** Some say all of it, some leave it to the defaults of their version. */
function agentParameters(version: string): Parameters {
  if (['1', '1.1', '1.2'].includes(version)) return ({ tier }) => ({ options: { systemMessage: `You are ${tier}.` } });
  if (['1.3', '1.6', '2', '3.1'].includes(version)) return () => ({ options: {} });
  return ({ tier }) => prompts('={{ $json.message }}', `You answer for ${tier}.`, { maxIterations: 5 });
}

function threeBranches(
  name: string,
  router: Part,
  { version, parameters }: { readonly version: string; readonly parameters: Parameters },
): WorkflowFixture {
  const { parts, wires, agents } = branches(first(3), version, parameters);
  const { part, pinData } = start(['small', 'nano', 'optima', 'nano']);
  return {
    workflow: workflow(name, {
      parts: [part, router, ...parts, answer()],
      wires: [
        ...main('Start', ['Tier Router']),
        ...main('Tier Router', ...agents.map((agent) => [agent])),
        ...wires,
        ...agents.flatMap((agent) => main(agent, ['Answer'])),
      ],
      pinData,
    }),
  };
}
