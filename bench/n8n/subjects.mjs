// What is compared, and what every subject is given.
import { ANSWER, createTools, SYSTEM_PROMPT, TOOL_STEPS, USER_MESSAGE } from '../loop/scenario.mjs';

export const OFFERED_TOOLS = 10;
export const TIERS = ['nano', 'small', 'optima', 'pro', 'expert'];
/** The third rule of five: a Switch tries its rules in order. It is also a tier that is billed. */
export const TIER = 'optima';
export const TENANT_ID = '0b1e7a52-4d3c-4f6a-9b8e-2c5d7f901234';
export const BARE_LOOP_PACKAGE = 'n8n-nodes-bare-loop';
/** n8n appends to a system prompt in some cases, so the model server looks for this part of it. */
export const SYSTEM_PROMPT_MARK = SYSTEM_PROMPT.slice(0, 40);

export const tools = createTools(OFFERED_TOOLS).tools;

/** An empty workflow and a Switch have no loop: they are the floor under the others. */
export const SUBJECTS = {
  empty: { toolCalls: 0 },
  switch: { toolCalls: 0 },
  'five-branches': { toolCalls: TOOL_STEPS },
  'one-node': { toolCalls: TOOL_STEPS, isBilled: true },
  'one-node-item': { toolCalls: TOOL_STEPS, isBilled: true },
  'bare-loop': { toolCalls: TOOL_STEPS },
  /** The same, and asks n8n for the two credentials that our node needs: what that alone costs. */
  'bare-loop-credentials': { toolCalls: TOOL_STEPS },
};

/** The same body for all; `items` holds the task for the node that takes the whole item. */
export const bodyOf = (tier) => ({
  tier,
  tenant: TENANT_ID,
  message: USER_MESSAGE,
  items: [
    {
      task_type: 'ai_agent',
      config: { agent_tier: tier, system_prompt: SYSTEM_PROMPT, message: USER_MESSAGE },
      meta: { tenant_id: TENANT_ID },
    },
  ],
});

/** What is wrong with a reply of the webhook, or undefined. */
export function findFault(subject, status, text) {
  if (status !== 200) return `HTTP ${status}: ${text.slice(0, 500)}`;
  const reply = JSON.parse(text);
  const [actual, wanted] =
    SUBJECTS[subject].toolCalls === 0 ? [reply.body?.message, USER_MESSAGE] : [reply.output, ANSWER];
  return actual === wanted ? undefined : `wrong answer: ${text.slice(0, 500)}`;
}
