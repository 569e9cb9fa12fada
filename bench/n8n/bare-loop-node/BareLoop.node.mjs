// A node that holds nothing but the loop, on undici's own client: no tenant, no policy, no bill, no database.
// The benchmark bundles it, so that undici is the same as in our package.
import { Agent, request } from 'undici';

const dispatcher = new Agent({ keepAliveTimeout: 30_000 });

async function post(url, body) {
  const reply = await request(url, {
    dispatcher,
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer bench-key' },
    body,
  });
  return reply.body.json();
}

async function callTool(toolUrl, { function: { name, arguments: input } }) {
  return post(toolUrl, JSON.stringify({ tool: name, arguments: JSON.parse(input) }));
}

async function runLoop({ modelUrl, toolUrl, tools, model, messages }) {
  for (;;) {
    const body = `{"model":${JSON.stringify(model)},"tools":${tools},"messages":${JSON.stringify(messages)}}`;
    const [{ message }] = (await post(`${modelUrl}/chat/completions`, body)).choices;
    if (message.tool_calls === undefined) return message.content;
    messages.push(message);
    for (const call of message.tool_calls) {
      const result = await callTool(toolUrl, call);
      messages.push({ role: 'tool', tool_call_id: call.id, content: JSON.stringify(result) });
    }
  }
}

const CREDENTIALS = ['openRouterApi', 'postgres'];
const text = (name) => ({ displayName: name, name, type: 'string', default: '' });

export class BareLoop {
  description = {
    displayName: 'Bare Loop',
    name: 'bareLoop',
    group: ['transform'],
    version: 1,
    description: 'The loop and nothing else',
    defaults: { name: 'Bare Loop' },
    inputs: ['main'],
    outputs: ['main'],
    credentials: CREDENTIALS.map((name) => ({ name, required: false })),
    properties: ['modelUrl', 'toolUrl', 'model', 'tools', 'systemPrompt', 'message'].map(text),
  };

  async execute() {
    // What n8n takes for handing them over is no cost of a loop, so there is a subject with and one without.
    const set = CREDENTIALS.filter((name) => this.getNode().credentials?.[name] !== undefined);
    await Promise.all(set.map((name) => this.getCredentials(name)));
    const read = (name) => this.getNodeParameter(name, 0);
    const output = await runLoop({
      modelUrl: read('modelUrl'),
      toolUrl: read('toolUrl'),
      model: read('model'),
      tools: read('tools'),
      messages: [
        { role: 'system', content: read('systemPrompt') },
        { role: 'user', content: read('message') },
      ],
    });
    return [[{ json: { output }, pairedItem: { item: 0 } }]];
  }
}
