// A stand-in for a model provider: speaks the OpenAI chat API, needs no key and no network, and says what it is.
import { createServer } from 'node:http';

import { sentenceOf } from './stand-in-sentences.mjs';

const MODELS = ['local-stand-in'];

/**
 * @param {{ port?: number, onRequest?: (request: object) => void }} [options]
 * @returns {Promise<{ url: string, close: () => Promise<void> }>} url up to and with /v1
 */
export function startStandInModel({ port = 0, onRequest = () => {} } = {}) {
  const server = createServer((incoming, response) => {
    reply(incoming, response, onRequest).catch((error) =>
      sendJson(response, 400, { error: { message: error.message } }),
    );
  });
  return new Promise((resolve) => {
    server.listen(port, '127.0.0.1', () => {
      resolve({
        url: `http://127.0.0.1:${server.address().port}/v1`,
        close: () => new Promise((done) => (server.close(done), server.closeAllConnections())),
      });
    });
  });
}

async function reply(incoming, response, onRequest) {
  // Editors ask for the list of models, to choose from.
  if (incoming.method === 'GET') return sendJson(response, 200, { data: MODELS.map((id) => ({ id, name: id })) });
  const chunks = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const request = JSON.parse(Buffer.concat(chunks).toString('utf8'));
  onRequest(request);
  const completion = answer(request);
  if (request.stream === true) sendStream(response, completion);
  else sendJson(response, 200, completion);
}

function sendJson(response, status, value) {
  const body = JSON.stringify(value);
  response
    .writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
    .end(body);
}

/** The whole answer as one piece. */
function sendStream(response, { choices: [{ message, finish_reason: finish }], usage, ...rest }) {
  const calls = message.tool_calls?.map((call, index) => ({ index, ...call }));
  const delta = { ...message, ...(calls === undefined ? {} : { tool_calls: calls }) };
  const chunk = { ...rest, object: 'chat.completion.chunk' };
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of [
    { ...chunk, choices: [{ index: 0, delta, finish_reason: null }] },
    { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: finish }] },
    { ...chunk, choices: [], usage },
  ]) {
    response.write(`data: ${JSON.stringify(event)}\n\n`);
  }
  response.end('data: [DONE]\n\n');
}

function answer(request) {
  const next = nextToolCall(request);
  const message = next ?? { role: 'assistant', content: finalText(request) };
  const promptTokens = countTokens(JSON.stringify(request.messages) + JSON.stringify(request.tools ?? ''));
  const completionTokens = countTokens(JSON.stringify(message));
  return {
    id: `stand-in-${Date.now().toString(36)}`,
    object: 'chat.completion',
    model: request.model,
    choices: [{ index: 0, message, finish_reason: next === undefined ? 'stop' : 'tool_calls' }],
    usage: {
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
    },
  };
}

/** It calls each tool whose subject the question mentions, one after the other, once. */
function nextToolCall({ messages, tools = [], tool_choice: choice }) {
  if (choice === 'none') return undefined;
  const { questions, turn } = conversation(messages);
  const called = callsOf(turn).map((call) => call.function.name);
  const next = tools.find(({ function: { name } }) => !called.includes(name) && subjectOf(name).test(questions.at(-1)));
  if (next === undefined) return undefined;
  const { name, parameters } = next.function;
  const call = { name, arguments: JSON.stringify(argumentsFor(parameters, questions)) };
  return {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: `call_${messages.length}_${called.length + 1}`, type: 'function', function: call }],
  };
}

/** What was asked so far, and what has happened since the last question. */
function conversation(messages) {
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  const questions = messages.filter(({ role }) => role === 'user').map(({ content }) => textOf(content));
  return { questions: questions.length === 0 ? [''] : questions, turn: messages.slice(asked + 1) };
}

const textOf = (content) =>
  typeof content === 'string' ? content : (content ?? []).map(({ text = '' }) => text).join(' ');

const callsOf = (messages) => messages.flatMap((message) => message.tool_calls ?? []);

/** `find_orders` is about "order", `delivery_estimate` about "deliv": the word's beginning, so that "delivered" counts. */
function subjectOf(tool) {
  const [subject = tool] = tool
    .split(/[^a-z]+/i)
    .filter((word) => !/^(find|get|list|search|mcp|client|tool|call|)$/i.test(word));
  return new RegExp(`\\b${subject.replace(/s$/, '').slice(0, 5)}`, 'i');
}

/** A person, a city and a number that were named last, also in an earlier question. */
function argumentsFor({ properties = {} }, questions) {
  const named = (pattern, otherwise) =>
    questions.flatMap((text) => [...text.matchAll(pattern)].map(([, word]) => word)).at(-1) ?? otherwise;
  const valueOf = (name, { type }) => {
    if (type === 'integer' || type === 'number') return Number(named(/\b(\d+)\b/g, '1001'));
    if (/city|place|town/i.test(name)) return named(/\b(?:to|in|reach|at|for)\s+(?!Ada\b)([A-Z]\w+)/g, 'Lisbon');
    if (/customer|person|name/i.test(name)) return named(/\b(?:does|has|do|of|for|did|about)\s+([A-Z]\w+)/g, 'Ada');
    return questions.at(-1);
  };
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, valueOf(name, schema)]));
}

function finalText({ messages, tools = [] }) {
  const { questions, turn } = conversation(messages);
  const names = new Map(callsOf(turn).map((call) => [call.id, call.function.name]));
  const found = turn
    .filter(({ role }) => role === 'tool')
    .map(({ tool_call_id: id, content }) => sentenceOf(names.get(id) ?? 'the tool', textOf(content)));
  if (found.length > 0) return found.join(' ');
  if (/\b(before|earlier|remember|last question)\b/i.test(questions.at(-1)) && questions.length > 1) {
    return `Before this you asked: "${questions.at(-2)}"`;
  }
  if (tools.length === 0) return 'I have no tools here, so I cannot look that up.';
  const list = tools.map((tool) => tool.function.name).join(', ');
  return `I am a local stand-in for a model and know only what my tools know: ${list}. Ask about one of them.`;
}

/** Near enough: four characters a token. */
function countTokens(text) {
  return Math.ceil(text.length / 4);
}
