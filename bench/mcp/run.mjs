// What MCP costs: a warm call beside the SDK's own, a run with 200 tools on ten servers beside the same from the
// database, and memory over 1,000 runs. `--quick` only shows that it works.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

import { requireRuntime } from '../loop/our-runtime.mjs';
import { medianOf, spreadOf } from '../loop/statistics.mjs';
import { loadPool, startDatabase, startServers } from './stack.mjs';

const isQuick = process.argv.includes('--quick');
const ROUNDS = isQuick ? 3 : 15;
const CALLS = isQuick ? 50 : 300;
const RUNS = isQuick ? 10 : 40;
const MEMORY_RUNS = isQuick ? 100 : 1000;

const milliseconds = ({ user, system }) => (user + system) / 1000;

/** Mean wall and processor time of one, in milliseconds. */
async function time(count, once) {
  const cpu = process.cpuUsage();
  const startedAt = performance.now();
  for (let index = 0; index < count; index++) await once();
  const wall = (performance.now() - startedAt) / count;
  return { wall, cpu: milliseconds(process.cpuUsage(cpu)) / count };
}

/** Rounds of every subject in turn; medians over the rounds. */
async function compare(subjects, count) {
  const samples = Object.fromEntries(Object.keys(subjects).map((name) => [name, []]));
  for (const once of Object.values(subjects)) await time(count, once);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, once] of Object.entries(subjects)) samples[name].push(await time(count, once));
  }
  return Object.fromEntries(
    Object.entries(samples).map(([name, taken]) => [
      name,
      {
        wall: medianOf(taken.map(({ wall }) => wall)),
        cpu: medianOf(taken.map(({ cpu }) => cpu)),
        spread: spreadOf(taken.map(({ wall }) => wall)),
      },
    ]),
  );
}

function report({ title, baseline, ours, bar }, figures) {
  const ratio = (key) => figures[ours][key] / figures[baseline][key];
  console.log(`\n${title}`);
  for (const [name, { wall, cpu, spread }] of Object.entries(figures)) {
    console.log(
      `  ${name.padEnd(24)} ${wall.toFixed(3)} ms, ${cpu.toFixed(3)} ms CPU (spread ${(spread * 100).toFixed(0)} %)`,
    );
  }
  console.log(
    `  ratio ${ratio('wall').toFixed(2)}x wall, ${ratio('cpu').toFixed(2)}x CPU; bar ${bar}x wall: ${ratio('wall') <= bar ? 'met' : 'MISSED'}`,
  );
}

async function compareCalls(port) {
  const url = `http://127.0.0.1:${port}/mcp/0`;
  const client = new Client({ name: 'bench', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const { createMcpServers } = await loadPool();
  const limits = { maxConnections: 10, idleMs: 60_000, connectTimeoutMs: 5000, discoveryTimeoutMs: 5000 };
  const mcp = createMcpServers({
    ...limits,
    callTimeoutMs: 5000,
    listTtlMs: 60_000,
    stdioCommands: [],
    checkSchema: () => undefined,
  });
  const signal = new AbortController().signal;
  const [{ server, tools }] = await mcp.discover({
    tenantId: 'bench',
    servers: [{ name: 's', url }],
    isWanted: () => true,
    signal,
  });
  const [{ name, inputSchema }] = tools;
  const settings = { name, mcpTool: name, inputSchema, server, isRepeatable: false };
  const input = { query: 'chains', limit: 5 };
  const meta = { tenant_id: 'bench', task_id: 'bench' };
  const call = { input, meta, signal, maxOutputBytes: 65_536, onProgress: () => undefined };
  const figures = await compare(
    {
      'SDK callTool': () => client.callTool({ name, arguments: input }),
      ours: () => mcp.transport.call(settings, call),
    },
    CALLS,
  );
  await Promise.all([client.close(), mcp.close()]);
  report({ title: 'A warm call', baseline: 'SDK callTool', ours: 'ours', bar: 1.3 }, figures);
}

async function compareRuns(port) {
  const database = await startDatabase(port);
  const { createRuntime } = requireRuntime();
  const runtime = createRuntime({
    database: { url: database.url },
    model: { apiKey: 'sk', baseUrl: `http://127.0.0.1:${port}/v1` },
  });
  const runFor = (tenant) => () =>
    runtime.run({
      task_type: 'ai_agent',
      config: { agent_tier: 'pro', message: 'hello' },
      meta: { tenant_id: tenant },
    });
  try {
    const subjects = {
      '200 tools, database': runFor(database.database),
      '10 servers of 20 tools': runFor(database.mcp),
    };
    const { warnings } = await subjects['10 servers of 20 tools']();
    if (warnings.length > 0) throw new Error(JSON.stringify(warnings));
    const [baseline, ours] = Object.keys(subjects);
    report({ title: 'A run', baseline, ours, bar: 1.1 }, await compare(subjects, RUNS));
    await measureMemory(subjects['10 servers of 20 tools']);
  } finally {
    await runtime.close();
    await database.stop();
  }
}

/** The heap after a collection, so that only what is kept counts. */
async function measureMemory(run) {
  const heap = () => {
    globalThis.gc();
    return process.memoryUsage().heapUsed / 1024 / 1024;
  };
  const taken = [heap()];
  for (let part = 0; part < 5; part++) {
    for (let index = 0; index < MEMORY_RUNS / 5; index++) await run();
    taken.push(heap());
  }
  console.log(`\nHeap over ${MEMORY_RUNS} runs, MB: ${taken.map((megabytes) => megabytes.toFixed(1)).join(' ')}`);
}

const servers = await startServers();
try {
  console.log(`Medians of ${ROUNDS} interleaved rounds. Node ${process.version}.`);
  await compareCalls(servers.port);
  await compareRuns(servers.port);
} finally {
  servers.stop();
}
