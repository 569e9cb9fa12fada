// The model: an OpenAI-compatible server without any thinking time, in a process of its own,
// so that its CPU is not counted against a subject. It is Node's plain server on purpose: its share is in
// the wall time of every subject, so a leaner one would shift all the ratios that the bars were set with.
// Paths:
//   /v1/chat/completions             answers by the number of tool messages
//   /checked/N/v1/chat/completions   the same, after a close look at the request, which must offer N tools
import { createServer } from 'node:http';

import { findFault } from './request-check.mjs';
import { ANSWER, MODEL_ID, TOOL_STEPS, toolArguments, toolName } from './scenario.mjs';

const TOOL_MESSAGE = Buffer.from('"role":"tool"');
const replies = Array.from({ length: TOOL_STEPS + 1 }, (_, step) => Buffer.from(JSON.stringify(replyBody(step))));

function replyBody(step) {
  const message =
    step === TOOL_STEPS
      ? { role: 'assistant', content: ANSWER }
      : { role: 'assistant', content: null, tool_calls: [toolCall(step)] };
  return {
    id: `gen-${step + 1}`,
    object: 'chat.completion',
    created: 1760000000,
    model: MODEL_ID,
    choices: [{ index: 0, finish_reason: step === TOOL_STEPS ? 'stop' : 'tool_calls', logprobs: null, message }],
    usage: {
      prompt_tokens: 900 + step * 60,
      completion_tokens: 30,
      total_tokens: 930 + step * 60,
      cost: 0.000123,
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0 },
    },
  };
}

function toolCall(step) {
  return {
    id: `call_${step + 1}`,
    type: 'function',
    function: { name: toolName(step), arguments: JSON.stringify(toolArguments(step)) },
  };
}

/** Counting bytes, not parsing: with 100 tools parsing would cost the server more than the subject. */
function countToolMessages(body) {
  let count = 0;
  for (let at = body.indexOf(TOOL_MESSAGE); at !== -1; at = body.indexOf(TOOL_MESSAGE, at + TOOL_MESSAGE.length)) {
    count += 1;
  }
  return count;
}

function send(response, status, body) {
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length });
  response.end(body);
}

function answer(request, response, body) {
  const toolMessages = countToolMessages(body);
  const fault =
    request.url === '/v1/chat/completions' ? undefined : findFault(request.url, body.toString(), toolMessages);
  if (fault !== undefined) {
    send(response, 400, Buffer.from(JSON.stringify({ error: { message: fault, code: 400 } })));
  } else {
    send(response, 200, replies[Math.min(toolMessages, TOOL_STEPS)]);
  }
}

const server = createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => answer(request, response, chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)));
});
// A subject waits while the others have their turn; it must find its connections still open.
server.keepAliveTimeout = 600_000;
server.requestTimeout = 0;
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));

process.on('message', () => process.send({ cpu: process.cpuUsage() }));
process.on('disconnect', () => process.exit(0));
