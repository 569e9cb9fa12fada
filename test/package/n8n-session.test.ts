import { executionOperations } from '../../scripts/lib/n8n-rest.mjs';
import { createSession } from '../../scripts/lib/n8n-session.mjs';
import { sendJson, startServer } from '../support/servers/http-server';

it('takes no connection again, which a busy n8n may be closing just then', async () => {
  const n8n = await startServer((_request, response) => sendJson(response, { data: {} }));
  try {
    const { rest } = createSession(n8n.url);
    await rest('GET', '/workflows');
    await executionOperations(rest, n8n.url).callWebhook('path', {});
    expect(n8n.requests.map(({ headers }) => headers.connection)).toEqual(['close', 'close']);
  } finally {
    await n8n.close();
  }
});
