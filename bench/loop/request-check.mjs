// What a request must hold. Each subject makes its first run under this check, so that nobody wins by sending less.
import { createTools, orderId, TOOL_STEPS, USER_MESSAGE } from './scenario.mjs';

/** What is wrong with a request, or undefined. `counted` is the number of tool messages by the fast way. */
export function findFault(url, text, counted) {
  const path = /^\/checked\/(\d+)\/v1\/chat\/completions$/.exec(url);
  if (path === null) return `no such path: ${url}`;
  const { messages, tools } = JSON.parse(text);
  return findToolFault(tools ?? [], createTools(Number(path[1])).tools) ?? findMessageFault(messages, counted);
}

function findToolFault(offered, expected) {
  if (offered.length !== expected.length) return `${offered.length} tools offered, not ${expected.length}`;
  const isDifferent = (tool, index) =>
    tool.type !== 'function' ||
    tool.function.name !== expected[index].name ||
    tool.function.description !== expected[index].description ||
    JSON.stringify(tool.function.parameters?.properties) !== JSON.stringify(expected[index].parameters.properties);
  const different = offered.findIndex(isDifferent);
  return different === -1 ? undefined : `tool ${different} differs: ${JSON.stringify(offered[different])}`;
}

function findMessageFault(messages, counted) {
  const results = messages.filter((message) => message.role === 'tool');
  if (results.length !== counted || counted > TOOL_STEPS) return `${results.length} tool messages, counted ${counted}`;
  if (!['system', 'developer'].includes(messages[0].role)) return 'the first message is not the system prompt';
  if (!JSON.stringify(messages[1]).includes(USER_MESSAGE)) return 'the second message is not the question';
  if (messages.length !== 2 + 2 * results.length)
    return `${messages.length} messages after ${results.length} tool calls`;
  const wrong = results.findIndex((message, step) => {
    const call = messages[2 + 2 * step].tool_calls?.[0];
    const content = JSON.stringify(message.content);
    return call?.id !== message.tool_call_id || !content.includes(orderId(step)) || !content.includes('shipped');
  });
  return wrong === -1 ? undefined : `tool message ${wrong} is wrong: ${JSON.stringify(results[wrong])}`;
}
