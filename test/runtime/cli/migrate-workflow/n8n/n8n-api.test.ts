import { openN8n } from '../../../../../runtime/cli/migrate-workflow/n8n/n8n-api';
import { startServer } from '../../../../support/servers/http-server';
import { containing } from '../../../../support/setup/matchers';

it('waits for no answer longer than it may', async () => {
  const server = await startServer(() => undefined);
  const api = openN8n({ url: server.url, apiKey: 'key' }, 20);
  await expect(api.workflow('1')).rejects.toMatchObject({
    code: 'N8N_UNAVAILABLE',
    message: `The n8n at ${server.url} cannot be reached or failed: it does not answer.`,
  });
  await server.close();
});

it('puts an id into the address as one word', async () => {
  const server = await startServer((_request, response) => void response.end('{"nodes":[]}'));
  await openN8n({ url: server.url, apiKey: 'key' }).workflow('../users?x=1');
  expect(server.requests[0]?.path).toBe('/api/v1/workflows/..%2Fusers%3Fx%3D1');
  await server.close();
});

it('ends where a server gives the same cursor for ever', async () => {
  const server = await startServer((_request, response) => void response.end('{"data":[{"id":"a"}],"nextCursor":"x"}'));
  await expect(openN8n({ url: server.url, apiKey: 'key' }).workflows()).resolves.toHaveLength(2);
  await server.close();
});

it('ends where a server gives two cursors in turn, and where its pages have no end', async () => {
  let page = 0;
  const cursors = (next: () => string) =>
    startServer((_request, response) => {
      response.end(JSON.stringify({ data: [{ id: 'a' }], nextCursor: next() }));
    });
  const turning = await cursors(() => ['x', 'y'][page++ % 2] ?? '');
  await expect(openN8n({ url: turning.url, apiKey: 'key' }).workflows()).resolves.toHaveLength(3);
  await turning.close();
  const endless = await cursors(() => `page ${page++}`);
  await expect(openN8n({ url: endless.url, apiKey: 'key' }).workflows()).rejects.toMatchObject({
    code: 'N8N_REFUSED',
    message: containing('more than 1000 pages'),
  });
  await endless.close();
});
