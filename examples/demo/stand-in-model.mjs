// A stand-in for a model provider: speaks the OpenAI chat API, needs no key and no network, and says what it is.
import { createServer } from 'node:http';

const NAME = 'local stand-in model';

/** What it calls: a tool that the request offers and that the message mentions, once each. */
const HABITS = [
  { tool: 'find_orders', when: /order/i, arguments: () => ({ customer: 'Ada' }) },
  { tool: 'delivery_estimate', when: /deliver|arrive/i, arguments: () => ({ city: 'Lisbon' }) },
];

/**
 * @param {{ port?: number, onRequest?: (request: object) => void }} [options]
 * @returns {Promise<{ url: string, close: () => Promise<void> }>} url up to and with /v1
 */
export function startStandInModel({ port = 0, onRequest = () => {} } = {}) {
  const server = createServer(async (incoming, response) => {
    const chunks = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const request = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    onRequest(request);
    const body = JSON.stringify(answer(request));
    response
      .writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
      .end(body);
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

function nextToolCall({ messages, tools = [], tool_choice: choice }) {
  if (choice === 'none') return undefined;
  const question = messages.findLast(({ role }) => role === 'user')?.content ?? '';
  const called = messages.flatMap((message) => message.tool_calls ?? []).map((call) => call.function.name);
  const offered = tools.map((tool) => tool.function.name);
  const habit = HABITS.find(
    ({ tool, when }) => offered.includes(tool) && !called.includes(tool) && when.test(question),
  );
  if (habit === undefined) return undefined;
  const call = { name: habit.tool, arguments: JSON.stringify(habit.arguments()) };
  return {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: `call_${called.length + 1}`, type: 'function', function: call }],
  };
}

function finalText({ model, messages }) {
  const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
  const found = results.length === 0 ? 'I have no tools for this.' : `My tools say: ${results.join(' and ')}.`;
  return `(${NAME} for ${model}) ${found}`;
}

/** Near enough: four characters a token. */
function countTokens(text) {
  return Math.ceil(text.length / 4);
}
