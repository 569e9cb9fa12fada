// Vercel's `ai` with OpenRouter's own provider, the pair that its users would take.
// The schemas are plain JSON Schema without a validator, as the tools of an MCP server are there.
import { createOpenRouter } from '@openrouter/ai-sdk-provider';
import { generateText, jsonSchema, stepCountIs, tool } from 'ai';

import { MODEL_ID, SYSTEM_PROMPT, USER_MESSAGE } from '../scenario.mjs';

export function create({ baseUrl, apiKey, tools }) {
  const model = createOpenRouter({ baseURL: baseUrl, apiKey }).chat(MODEL_ID);
  const toolset = Object.fromEntries(
    tools.map(({ name, description, parameters, execute }) => [
      name,
      tool({ description, inputSchema: jsonSchema(parameters), execute: (input) => execute(input) }),
    ]),
  );

  async function run() {
    const { text } = await generateText({
      model,
      instructions: SYSTEM_PROMPT,
      prompt: USER_MESSAGE,
      tools: toolset,
      stopWhen: stepCountIs(10),
    });
    return text;
  }

  return { run, close: async () => {} };
}
