// OpenAI's own agent kit over chat completions. Tracing is off: it would post to a service of theirs.
import { Agent, OpenAIChatCompletionsModel, Runner, tool } from '@openai/agents';
import OpenAI from 'openai';

import { MODEL_ID, SYSTEM_PROMPT, USER_MESSAGE } from '../scenario.mjs';

export function create({ baseUrl, apiKey, tools }) {
  const runner = new Runner({ tracingDisabled: true });
  const agent = new Agent({
    name: 'bench',
    instructions: SYSTEM_PROMPT,
    model: new OpenAIChatCompletionsModel(new OpenAI({ baseURL: baseUrl, apiKey }), MODEL_ID),
    // Not strict: strict mode would ask that every argument be required, which tools from a database are not.
    tools: tools.map(({ name, description, parameters, execute }) =>
      tool({ name, description, parameters, strict: false, execute: (input) => execute(input) }),
    ),
  });

  async function run() {
    const result = await runner.run(agent, USER_MESSAGE, { maxTurns: 10 });
    return result.finalOutput;
  }

  return { run, close: async () => {} };
}
