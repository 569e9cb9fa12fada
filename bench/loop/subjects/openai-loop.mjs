// The loop that most people write first: the `openai` SDK as it comes, and nothing around it.
import OpenAI from 'openai';

import { MODEL_ID, SYSTEM_PROMPT, USER_MESSAGE } from '../scenario.mjs';

export function create({ baseUrl, apiKey, tools }) {
  const client = new OpenAI({ baseURL: baseUrl, apiKey });
  const executors = new Map(tools.map((tool) => [tool.name, tool.execute]));
  const definitions = tools.map(({ name, description, parameters }) => ({
    type: 'function',
    function: { name, description, parameters },
  }));

  async function run() {
    const messages = [
      { role: 'system', content: SYSTEM_PROMPT },
      { role: 'user', content: USER_MESSAGE },
    ];
    for (;;) {
      const reply = await client.chat.completions.create({ model: MODEL_ID, messages, tools: definitions });
      const { message } = reply.choices[0];
      if (message.tool_calls === undefined) return message.content;
      messages.push(message);
      for (const call of message.tool_calls) {
        const result = await executors.get(call.function.name)(JSON.parse(call.function.arguments));
        messages.push({ role: 'tool', tool_call_id: call.id, content: JSON.stringify(result) });
      }
    }
  }

  return { run, close: async () => {} };
}
