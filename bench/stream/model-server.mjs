// The model: one tool call, then an answer of 100 words, one every 20 ms, or all of them after the same time where the
// answer is not streamed. It tells when it sent the words of each run, which its question names.
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import { toolArguments } from '../loop/scenario.mjs';
import { readText, sendJson, serve } from '../n8n/server-process.mjs';
import { WORD_MS, WORDS } from './scenario.mjs';

const USAGE = { prompt_tokens: 900, completion_tokens: WORDS.length, total_tokens: 900 + WORDS.length, cost: 0.000123 };

/** By the name of the run. */
let sentAt = {};

const now = () => performance.timeOrigin + performance.now();
const choice = (fields, finish = null) => ({ choices: [{ index: 0, finish_reason: finish, ...fields }] });

async function answer(request, response) {
  const { model, messages, tools, stream } = JSON.parse(await readText(request));
  const head = { id: 'gen-1', created: 1760000000, model };
  const isAnswer = messages.at(-1).role === 'tool';
  const name = tools.map((tool) => tool.function.name).sort()[0];
  const call = { id: 'call_1', type: 'function', function: { name, arguments: JSON.stringify(toolArguments(0)) } };
  const message = isAnswer
    ? { role: 'assistant', content: WORDS.join('') }
    : { role: 'assistant', content: null, tool_calls: [call] };
  const finish = isAnswer ? 'stop' : 'tool_calls';
  if (stream !== true) {
    if (isAnswer) await sleep(WORDS.length * WORD_MS);
    return sendJson(response, 200, {
      ...head,
      object: 'chat.completion',
      ...choice({ message }, finish),
      usage: USAGE,
    });
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const send = (fields) =>
    response.write(`data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...fields })}\n\n`);
  if (isAnswer) await speak(send, messages);
  else send(choice({ delta: { ...message, tool_calls: [{ index: 0, ...call }] } }));
  send(choice({ delta: {} }, finish));
  send({ choices: [], usage: USAGE });
  response.end('data: [DONE]\n\n');
}

async function speak(send, messages) {
  const run = /run (\S+)/.exec(JSON.stringify(messages[1].content))[1];
  const times = (sentAt[run] = []);
  for (const content of WORDS) {
    await sleep(WORD_MS);
    times.push(now());
    send(choice({ delta: { content } }));
  }
}

serve(createServer(answer), () => {
  const told = { sentAt };
  sentAt = {};
  return told;
});
