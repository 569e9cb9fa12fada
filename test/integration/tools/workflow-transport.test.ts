import type { ServerResponse } from 'node:http';

import { sendJson, startServer, type TestServer } from '../../support/servers/http-server';
import { containing } from '../../support/setup/matchers';
import { TENANT_ID } from '../../support/values/memory-stores';
import { callTool } from '../../support/worlds/call-tool';

let n8n: TestServer;
let answer: (response: ServerResponse) => void;

beforeAll(async () => {
  n8n = await startServer((_request, response) => answer(response));
});
beforeEach(() => {
  n8n.requests.length = 0;
});
afterAll(() => n8n.close());

const call = (more: object = {}) =>
  callTool({ code: 'orders', transport: 'workflow', endpoint: `${n8n.url}/webhook/orders`, ...more }, { id: 7 });

it('posts the body of a hook, with the headers of the row, and gives the JSON that comes back', async () => {
  answer = (response) => sendJson(response, [{ order: 7 }]);
  const more = { authHeader: 'Bearer row', customConfig: { headers: { 'X-Key': 'own' } } };
  expect((await call(more)).output).toEqual({ isError: false, value: [{ order: 7 }] });
  expect(n8n.requests).toMatchObject([
    { method: 'POST', path: '/webhook/orders', headers: { authorization: 'Bearer row', 'x-key': 'own' } },
  ]);
  expect(JSON.parse(n8n.requests[0]?.body ?? '')).toEqual({
    tool: 'orders',
    arguments: { id: 7 },
    tenant_id: TENANT_ID,
    meta: { task_id: 'task-1' },
  });
});

it.each([
  ['The requested webhook "POST orders" is not registered.', 'activate (publish) it in n8n'],
  [
    'This webhook is not registered for POST requests. Did you mean to make a GET request?',
    'set its HTTP Method to POST',
  ],
])('says what to do where n8n answers 404: %s', async (message, advice) => {
  answer = (response) => sendJson(response, { code: 404, message, hint: 'The workflow must be active' }, 404);
  const { output, value } = await call();
  expect(output).toMatchObject({ isError: true, code: 'TOOL_HTTP_ERROR' });
  expect(value.message).toEqual(containing(advice));
  expect(value.message).toEqual(containing(JSON.stringify(message).slice(1, 20)));
});

it('leaves a 404 that the workflow itself gives as it is', async () => {
  answer = (response) => sendJson(response, { message: 'no such order' }, 404);
  expect((await call()).value.message).toBe('Tool "orders" answered HTTP 404: {"message":"no such order"}');
});

it('warns of a workflow that answers before it is done', async () => {
  answer = (response) => sendJson(response, { message: 'Workflow was started' });
  expect((await call()).output).toMatchObject({
    isError: false,
    code: 'WORKFLOW_ANSWERS_EARLY',
    value: { warning: { message: containing('its Webhook node responds immediately') } },
  });
});

it('fails when the workflow does, or says that it did', async () => {
  answer = (response) => sendJson(response, { message: 'Error in workflow' }, 500);
  expect((await call()).output).toMatchObject({ code: 'TOOL_HTTP_ERROR' });
  answer = (response) => sendJson(response, { success: false, error: 'no stock' });
  expect((await call()).output).toMatchObject({ code: 'TOOL_FAILED', value: { message: containing('no stock') } });
});

it('does not offer a row without a webhook', async () => {
  expect((await call({ endpoint: null })).warnings).toMatchObject([{ message: containing('no mcp_endpoint') }]);
});
