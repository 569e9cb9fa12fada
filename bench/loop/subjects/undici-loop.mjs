// The limit: the least that a correct loop can do. The tool list is serialised once, nothing is validated.
import { Pool } from 'undici';

import { MODEL_ID, SYSTEM_PROMPT, USER_MESSAGE } from '../scenario.mjs';

export function create({ baseUrl, apiKey, tools }) {
  const url = new URL(`${baseUrl}/chat/completions`);
  const pool = new Pool(url.origin);
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` };
  const executors = new Map(tools.map((tool) => [tool.name, tool.execute]));
  const definitions = tools.map(({ name, description, parameters }) => ({
    type: 'function',
    function: { name, description, parameters },
  }));
  const head = `{"model":${JSON.stringify(MODEL_ID)},"tools":${JSON.stringify(definitions)},"messages":`;

  async function callModel(messages) {
    const body = `${head}${JSON.stringify(messages)}}`;
    const response = await pool.request({ path: url.pathname, method: 'POST', headers, body });
    if (response.statusCode !== 200) throw new Error(await response.body.text());
    const reply = await response.body.json();
    return reply.choices[0].message;
  }

  async function run() {
    const messages = [
      { role: 'system', content: SYSTEM_PROMPT },
      { role: 'user', content: USER_MESSAGE },
    ];
    for (;;) {
      const message = await callModel(messages);
      if (message.tool_calls === undefined) return message.content;
      messages.push(message);
      for (const call of message.tool_calls) {
        const result = await executors.get(call.function.name)(JSON.parse(call.function.arguments));
        messages.push({ role: 'tool', tool_call_id: call.id, content: JSON.stringify(result) });
      }
    }
  }

  return { run, close: () => pool.close() };
}
