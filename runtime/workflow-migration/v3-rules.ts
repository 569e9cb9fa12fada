import { AGENT_TYPE } from './agent-type';
import type { FlaggedAgent, WorkflowNode } from './contract';
import { showName } from './show-name';

const FIRST_SUPPORTED_VERSION = 2;
const CONVERSATIONAL_UP_TO = 1.5;

/** The modes that n8n 3 has no more, by their names in the editor. */
const REMOVED_MODES: ReadonlyMap<string, string> = new Map([
  ['conversationalAgent', 'Conversational Agent'],
  ['openAiFunctionsAgent', 'OpenAI Functions Agent'],
  ['planAndExecuteAgent', 'Plan and Execute Agent'],
  ['reActAgent', 'ReAct Agent'],
  ['sqlAgent', 'SQL Agent'],
]);

/** What n8n's own rules for version 3 say of a node, disabled ones too; undefined for one that goes on as it is. */
export function v3Flag(agent: WorkflowNode): Omit<FlaggedAgent, 'outcome'> | undefined {
  const { name: node, type, typeVersion, parameters } = agent;
  if (type !== AGENT_TYPE || typeVersion >= FIRST_SUPPORTED_VERSION) return undefined;
  const plain = typeVersion <= CONVERSATIONAL_UP_TO ? 'conversationalAgent' : 'toolsAgent';
  const mode = REMOVED_MODES.get(typeof parameters.agent === 'string' ? parameters.agent : plain);
  const version = showName(String(typeVersion));
  if (mode === undefined) {
    const text = `It is an AI Agent of version ${version}, which n8n 3 runs as version 2.`;
    return { node, rule: 'agent-node-version-v3', text };
  }
  const text = `It uses the mode ${mode} of AI Agent version ${version}, which fails in n8n 3.`;
  return { node, rule: 'agent-removed-modes-v3', text };
}

/** All of them, in the order of the workflow, with what became of each. */
export function v3Flags(nodes: readonly WorkflowNode[], migrated: ReadonlySet<string>): readonly FlaggedAgent[] {
  return nodes.flatMap((node) => {
    const flag = v3Flag(node);
    return flag === undefined ? [] : [{ ...flag, outcome: migrated.has(node.name) ? 'migrated' : 'left' }];
  });
}
