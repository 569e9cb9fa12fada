// The model and the tool, in a process of its own: counts what it is asked, and notes how long each task took to get here.
// Paths: /v1/chat/completions, /tool
import { createServer } from 'node:http';

import { ANSWER, MODEL_ID, now, PUSHED_AT, TOOL, TOOL_ARGUMENTS, TOOL_RESULT } from './scenario.mjs';

const toJson = (value) => Buffer.from(JSON.stringify(value));
const completion = (message, finishReason) =>
  toJson({
    id: 'gen-1',
    object: 'chat.completion',
    created: 1760000000,
    model: MODEL_ID,
    choices: [{ index: 0, finish_reason: finishReason, logprobs: null, message }],
    usage: { prompt_tokens: 900, completion_tokens: 30, total_tokens: 930 },
  });
const TOOL_CALL = {
  id: 'call_1',
  type: 'function',
  function: { name: TOOL.name, arguments: JSON.stringify(TOOL_ARGUMENTS) },
};
const REPLIES = {
  answer: completion({ role: 'assistant', content: ANSWER }, 'stop'),
  call: completion({ role: 'assistant', content: null, tool_calls: [TOOL_CALL] }, 'tool_calls'),
  tool: toJson(TOOL_RESULT),
};

let latency = 0;
let modelCalls = 0;
let toolCalls = 0;
let starts = [];

function send(response, body) {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
  response.end(body);
}

function answerModel(response, body) {
  modelCalls += 1;
  const isFirst = !body.includes('"role":"tool"');
  const pushedAt = isFirst ? PUSHED_AT.exec(body) : null;
  if (pushedAt !== null) starts.push(now() - Number(pushedAt[1]));
  const reply = isFirst && body.includes(TOOL.name) ? REPLIES.call : REPLIES.answer;
  if (latency === 0) send(response, reply);
  else setTimeout(() => send(response, reply), latency);
}

const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (text) => (body += text));
  request.on('end', () => {
    if (request.url !== '/tool') return answerModel(response, body);
    toolCalls += 1;
    send(response, REPLIES.tool);
  });
});
// A worker waits while the other has its turn; it must find its connections still open.
server.keepAliveTimeout = 600_000;
server.requestTimeout = 0;
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));

/** A message `{latency?}` sets the thinking time; the reply is what was counted since the last one. */
process.on('message', (message) => {
  latency = message.latency ?? latency;
  process.send({ modelCalls, toolCalls, starts, cpu: process.cpuUsage() });
  [modelCalls, toolCalls, starts] = [0, 0, []];
});
process.on('disconnect', () => process.exit(0));
