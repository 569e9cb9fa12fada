// The model: an OpenAI-compatible server without any thinking time, in a process of its own, so that its CPU is not
// counted. It asks for five tools, one a step, by the names that it was offered: n8n names a tool after its node, and
// five branches cannot have nodes of the same name. Every request is looked at, so that nobody wins by sending less.
import { createServer } from 'node:http';

import { ANSWER, orderId, TOOL_STEPS, toolArguments, USER_MESSAGE } from '../loop/scenario.mjs';
import { readText, sendJson, serve } from './server-process.mjs';
import { OFFERED_TOOLS, SYSTEM_PROMPT_MARK } from './subjects.mjs';

const counts = { calls: 0, faults: 0 };
let lastFault = '';

function reply({ model, messages, tools }) {
  const results = messages.filter(({ role }) => role === 'tool');
  const fault = findFault(messages, tools ?? [], results);
  if (fault !== undefined) {
    counts.faults += 1;
    lastFault = fault;
    return { status: 400, body: { error: { message: fault, code: 400 } } };
  }
  counts.calls += 1;
  const names = tools.map((tool) => tool.function.name).sort();
  return { status: 200, body: completion(model, messageOf(names, results.length), results.length) };
}

function messageOf(names, step) {
  if (step === TOOL_STEPS) return { role: 'assistant', content: ANSWER };
  const call = { name: names[step], arguments: JSON.stringify(toolArguments(step)) };
  return {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: `call_${step + 1}`, type: 'function', function: call }],
  };
}

function completion(model, message, step) {
  return {
    id: `gen-${step + 1}`,
    object: 'chat.completion',
    created: 1760000000,
    model,
    choices: [{ index: 0, finish_reason: message.content === null ? 'tool_calls' : 'stop', logprobs: null, message }],
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

function findFault(messages, tools, results) {
  if (tools.length !== OFFERED_TOOLS) return `${tools.length} tools offered, not ${OFFERED_TOOLS}`;
  if (messages.length !== 2 + 2 * results.length || results.length > TOOL_STEPS) return `${messages.length} messages`;
  if (!textOf(messages[0]).includes(SYSTEM_PROMPT_MARK)) return 'the first message is not the system prompt';
  if (!textOf(messages[1]).includes(USER_MESSAGE)) return 'the second message is not the question';
  const wrong = results.findIndex(
    (message, step) => !textOf(message).includes(orderId(step)) || !textOf(message).includes('shipped'),
  );
  return wrong === -1 ? undefined : `tool message ${wrong} is wrong: ${textOf(results[wrong])}`;
}

const textOf = ({ content }) => (typeof content === 'string' ? content : JSON.stringify(content));

const server = createServer(async (request, response) => {
  const { status, body } = reply(JSON.parse(await readText(request)));
  sendJson(response, status, body);
});
serve(server, () => ({ ...counts, lastFault }));
