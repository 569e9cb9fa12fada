// The worker that most people write first: BullMQ and the `openai` client as they come, and nothing around them. No
// retries of its own, no callback, no bill.
import { Worker } from 'bullmq';
import OpenAI from 'openai';

import { MODEL_ID, SYSTEM_PROMPT, TOOL } from './scenario.mjs';

const { REDIS_URL, MODEL_URL, QUEUE, CONCURRENCY } = process.env;
const client = new OpenAI({ baseURL: `${MODEL_URL}/v1`, apiKey: 'sk-bench' });
const tools = [{ type: 'function', function: TOOL }];

async function callTool(call) {
  const response = await fetch(`${MODEL_URL}/tool`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: call.function.arguments,
  });
  return { role: 'tool', tool_call_id: call.id, content: JSON.stringify(await response.json()) };
}

async function handle({ data }) {
  const messages = [
    { role: 'system', content: SYSTEM_PROMPT },
    { role: 'user', content: data.message },
  ];
  for (;;) {
    const reply = await client.chat.completions.create({ model: MODEL_ID, messages, ...(data.withTool && { tools }) });
    const { message } = reply.choices[0];
    if (message.tool_calls === undefined) return message.content;
    messages.push(message, ...(await Promise.all(message.tool_calls.map(callTool))));
  }
}

const worker = new Worker(QUEUE, handle, {
  connection: { url: REDIS_URL },
  concurrency: Number(CONCURRENCY),
  removeOnComplete: { count: 0 },
});
worker.on('error', (error) => console.error(error));
worker.on('failed', (_job, error) => console.error(error));
await worker.waitUntilReady();
let expected = 0;
worker.on('completed', () => {
  expected -= 1;
  if (expected === 0) process.send({ done: true });
});
process.on('message', (message) => {
  if (message.pause) worker.pause().then(() => process.send({ paused: true }));
  if (message.expect) expected = message.expect;
  if (message.resume) worker.resume();
});
process.send({ ready: true });
