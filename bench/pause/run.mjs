// The longest pause of the event loop and the growth of the process under every heavy input, each alone and all at once. The
// process that is measured has nothing in it but the runtime: Postgres, model, MCP servers and web server are outside.
import { fork } from 'node:child_process';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';

import pg from 'pg';

import { startPostgres } from '../../scripts/lib/postgres.mjs';
import { calling, DONE, HEAVY_INPUTS } from '../../test/support/values/heavy-inputs.ts';
import { runtimePath } from '../loop/our-runtime.mjs';
import { medianOf } from '../loop/statistics.mjs';

const isQuick = process.argv.includes('--quick');
const ROUNDS = isQuick ? 1 : 7;
const PAUSE_MS = 50;
const RSS_MB = 64;
/** Beyond so many times a bar, the process ends with 1. */
const RED = 5;
const here = (name) => fileURLToPath(new URL(name, import.meta.url));

/** Answers by address: `/model/3`, `/mcp/3` and `/page/3` belong to the input of that number. */
async function startServers() {
  const queues = new Map();
  const texts = HEAVY_INPUTS.map(({ list, result, page }) => ({
    list: Buffer.from(list?.() ?? '{"tools":[]}'),
    result: Buffer.from(result?.() ?? '{"content":[]}'),
    page: Buffer.from(page?.() ?? ''),
  }));
  const server = createServer(async (request, response) => {
    const [, what, number] = request.url.split('/');
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const json = (body) => response.writeHead(200, { 'content-type': 'application/json' }).end(body);
    if (what === 'page') return response.writeHead(200, { 'content-type': 'text/html' }).end(texts[number].page);
    if (what === 'model') return json(queues.get(number)?.shift() ?? DONE);
    if (request.method !== 'POST') return response.writeHead(405).end();
    const { id, method } = JSON.parse(Buffer.concat(chunks).toString());
    if (id === undefined) return response.writeHead(202).end();
    const answers = {
      initialize:
        '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"heavy","version":"1"}}',
      'tools/list': texts[number].list,
      'tools/call': texts[number].result,
    };
    json(
      Buffer.concat(
        [`{"jsonrpc":"2.0","id":${id},"result":`, answers[method] ?? '{}', '}'].map((part) => Buffer.from(part)),
      ),
    );
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${server.address().port}`;
  const refill = (number) =>
    queues.set(
      String(number),
      repliesOf(number, origin).map((text) => Buffer.from(text)),
    );
  return { origin, refill, close: () => server.close() };
}

function repliesOf(number, origin) {
  const { replies, page } = HEAVY_INPUTS[number];
  if (page !== undefined) return [calling('fetch_page', JSON.stringify({ url: `${origin}/page/${number}` })), DONE];
  return replies?.(`s${number}`) ?? [];
}

/** A tenant for each input, with its MCP server, and a tool that fetches pages. */
async function seed(url, origin) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const tool = await client.query(
    `INSERT INTO elo_agent_tools (code, name, description, transport, transport_config)
     VALUES ('fetch_page', 'Fetch', 'Fetches a page', 'builtin', '{"builtin":"web_fetch"}') RETURNING id`,
  );
  const tenants = [];
  for (const [number, { list, page }] of HEAVY_INPUTS.entries()) {
    const { rows } = await client.query('INSERT INTO elo_t_tenants (name) VALUES ($1) RETURNING id', [
      `heavy ${number}`,
    ]);
    tenants.push(rows[0].id);
    if (page !== undefined) {
      await client.query(
        `INSERT INTO elo_t_tenant_tools (tenant_id, tool_id, custom_config)
         VALUES ($1, $2, '{"allowed_hosts":["127.0.0.1"]}')`,
        [rows[0].id, tool.rows[0].id],
      );
    }
    if (list === undefined) continue;
    const server = await client.query('INSERT INTO elo_agent_mcp_servers (code, url) VALUES ($1, $2) RETURNING id', [
      `s${number}`,
      `${origin}/mcp/${number}`,
    ]);
    await client.query('INSERT INTO elo_t_tenant_mcp_servers (tenant_id, server_id) VALUES ($1, $2)', [
      rows[0].id,
      server.rows[0].id,
    ]);
  }
  await client.end();
  return tenants;
}

/** One fresh process: every input once alone, the first time that it sees it, then all of them together. */
async function measureProcess({ servers, tenants, databaseUrl }) {
  const child = fork(here('./subject-process.mjs'), [], {
    stdio: 'inherit',
    execArgv: ['--expose-gc', '--disable-warning=MODULE_TYPELESS_PACKAGE_JSON'],
  });
  const ask = (message) =>
    new Promise((resolve, reject) => {
      child.once('message', (answer) =>
        answer.error === undefined ? resolve(answer) : reject(new Error(answer.error)),
      );
      child.once('exit', (code) => reject(new Error(`the process ended with ${code}`)));
      child.send(message);
    });
  try {
    await ask({ start: { runtimePath, databaseUrl, origin: servers.origin, tenants } });
    const alone = [];
    for (const number of HEAVY_INPUTS.keys()) {
      servers.refill(number);
      alone.push(await ask({ run: [number] }));
    }
    for (const number of HEAVY_INPUTS.keys()) servers.refill(number);
    return { alone, together: await ask({ run: [...HEAVY_INPUTS.keys()] }) };
  } finally {
    child.kill();
  }
}

function row(name, figures, atOnce = 1) {
  const pauses = figures.map(({ pauseMs }) => pauseMs);
  const rss = figures.map(({ rssMb }) => rssMb);
  const over = medianOf(pauses) > PAUSE_MS || medianOf(rss) > RSS_MB ? '  <- over' : '';
  if (medianOf(pauses) > RED * PAUSE_MS * atOnce || medianOf(rss) > RED * RSS_MB * atOnce) process.exitCode = 1;
  const cells = [medianOf(pauses), Math.max(...pauses), medianOf(rss), Math.max(...rss)].map((value) =>
    value.toFixed(0).padStart(6),
  );
  console.log(`${name.padEnd(64)} ${cells.join(' ')}${over}`);
}

const postgres = await startPostgres();
const servers = await startServers();
try {
  const { execFileSync } = await import('node:child_process');
  const cli = fileURLToPath(new URL('../../dist/runtime/cli.js', import.meta.url));
  execFileSync(process.execPath, [cli, 'diagnostics', 'prepare-database'], {
    env: { ...process.env, DATABASE_URL: postgres.url },
  });
  const tenants = await seed(postgres.url, servers.origin);
  const rounds = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    rounds.push(await measureProcess({ servers, tenants, databaseUrl: postgres.url }));
  }
  console.log(`${ROUNDS} fresh processes. Bars: ${PAUSE_MS} ms, ${RSS_MB} MB. Node ${process.version}`);
  console.log(`${''.padEnd(64)}     ms  worst     MB  worst`);
  for (const [number, { kind, name }] of HEAVY_INPUTS.entries()) {
    row(
      `${kind}: ${name}`,
      rounds.map(({ alone }) => alone[number]),
    );
  }
  row(
    'all of them at once',
    rounds.map(({ together }) => together),
    4,
  );
} finally {
  servers.close();
  await postgres.stop();
}
