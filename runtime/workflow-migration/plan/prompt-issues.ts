import type { JsonObject, JsonValue } from '../../util/json';
import type { WorkflowNode } from '../contract';
import { codeTexts } from '../expressions/code-texts';
import type { Issue } from '../issue';
import { isExpression } from '../parameters';

/** `auto`, `define` or `guardrails`; a fixed value stands as `=define` as well. */
export function promptTypeOf({ promptType = 'auto' }: JsonObject): JsonValue {
  return isFixedExpression(promptType) ? promptType.slice(1) : promptType;
}

function isFixedExpression(value: JsonValue): value is string {
  return typeof value === 'string' && isExpression(value) && !value.includes('{{');
}

/** Expressions that n8n evaluates by the parameters and sub-nodes of an AI Agent. */
const ABOUT_AGENT = /\$(?:agentInfo|parameter|rawParameter|self)\b/;

/** What a prompt is made of that the new node does not have. */
export function promptIssues({ name: node, parameters }: WorkflowNode): readonly Issue[] {
  const type = promptTypeOf(parameters);
  const issues: Issue[] = [];
  if (isExpression(type)) {
    const text = 'Its source of the prompt is an expression. Choose one of the sources first.';
    issues.push({ node, reason: 'prompt-type', text });
  }
  if (type === 'define' && isBlank(parameters.text)) {
    const text =
      'Its prompt is empty, and the new node needs a message. Write one first, such as what its system message asks for.';
    issues.push({ node, reason: 'no-prompt', text });
  }
  const found = [...codeTexts(parameters)].map((text) => ABOUT_AGENT.exec(text)?.[0]).find(Boolean);
  if (found !== undefined) {
    const text = `It reads ${found}, which is another thing or nothing in the new node.`;
    issues.push({ node, reason: 'expressions', text, allowance: 'expressions' });
  }
  return issues;
}

function isBlank(text: JsonValue = ''): boolean {
  return typeof text === 'string' && text.replace(/^=/, '').trim() === '';
}
