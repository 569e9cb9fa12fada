/** The names that a person knows a branch by. */
export interface BranchNames {
  /** Empty for a workflow without a name. */
  readonly workflow: string;
  readonly agent: string;
  readonly modelId: string;
  /** True for an agent that is its node's only one: no other branch has to be told from it. */
  readonly isLone: boolean;
}

/** Codes are kept in the bills of every call, in a column of this width. */
const MAX_CODE = 20;
export const HASH_LENGTH = 7;
const ROOM = MAX_CODE - HASH_LENGTH - 1;
const MIN_AGENT_ROOM = 6;

/** Words that half of all names have. */
const FILLER = /^(?:an?|ai|agents?|and|by|for|from|in|my|n8n|node|of|on|the|to|using|with|workflow)\d*$/;

/**
 * Words of the workflow's name, then of the agent's, before the hash. Branches whose agents are called as n8n calls them are
 * told apart by their models; a lone agent needs no more than its workflow.
 */
export function tierCode(names: BranchNames, hash: string): string {
  const ofAgent = agentWords(names);
  const ofWorkflow = workflowWords(names.workflow).filter((word) => !ofAgent.includes(word));
  if (ofWorkflow.length === 0 || ofAgent.length === 0) {
    const [readable = 'agent'] = [ofWorkflow, ofAgent].map((words) => cut(words, ROOM)).filter((text) => text !== '');
    return `${readable}_${hash}`;
  }
  const agent = cut(ofAgent, Math.max(MIN_AGENT_ROOM, ROOM - 1 - ofWorkflow.join('_').length));
  return `${cut(ofWorkflow, ROOM - 1 - agent.length)}_${agent}_${hash}`;
}

function agentWords({ workflow, agent, modelId, isLone }: BranchNames): readonly string[] {
  const telling = tellingWords(agent);
  if (telling.length > 0 || (isLone && workflowWords(workflow).length > 0)) return telling;
  return wordsOf(modelId.split('/').at(-1) ?? '');
}

function workflowWords(name: string): readonly string[] {
  const telling = tellingWords(name);
  return telling.length > 0 ? telling : wordsOf(name);
}

/** The words that are not in every other name; a number alone says nothing. */
function tellingWords(name: string): readonly string[] {
  const words = wordsOf(name).filter((word) => !FILLER.test(word));
  return words.some((word) => /[a-z]/.test(word)) ? words : [];
}

function wordsOf(text: string): readonly string[] {
  return (
    text
      .normalize('NFKD')
      .toLowerCase()
      // The marks of letters that NFKD has taken apart.
      .replace(/\p{M}+/gu, '')
      .split(/[^a-z0-9]+/)
      .filter((word) => word !== '')
  );
}

/** The whole words that fit; of a first word that is too long, its beginning. */
function cut(words: readonly string[], room: number): string {
  const [first = '', ...rest] = words;
  let text = first.slice(0, room);
  for (const word of rest) {
    if (text.length + 1 + word.length > room) break;
    text = `${text}_${word}`;
  }
  return text;
}
