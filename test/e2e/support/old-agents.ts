import type { ModelServerRequest } from '../../support/servers/model-server';

/** In the words of a conversational agent of n8n, which shows its tools as a text. */
const ASKS_FOR_JSON = 'a markdown code snippet of a json blob';

/** What a model answers to a conversational agent; undefined for requests of all others. */
export function answerToConversational({ model, messages }: ModelServerRequest): string | undefined {
  const texts = messages.filter(({ role }) => role === 'user').map(({ content }) => content ?? '');
  const asked = texts.at(-1) ?? '';
  if (!asked.includes(ASKS_FOR_JSON)) return undefined;
  const question = [...texts.join('\n').matchAll(/(?:Message|Question) \d+ of \w+/g)].at(-1)?.[0] ?? '';
  const tool = /can use are:\s+(\w+): /.exec(asked)?.[1];
  const isAnswer = tool === undefined;
  const text = asked.includes('JSON Schema') ? '{"output":{"city":"Ada"}}' : `${model} answers ${question}`;
  const action = { action: isAnswer ? 'Final Answer' : tool, action_input: isAnswer ? text : 'Ada' };
  return `\`\`\`json\n${JSON.stringify(action)}\n\`\`\``;
}
