import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';

import { type UnpackedPackage, unpackPackage } from '../support/worlds/unpack-package';

const ROOT = path.resolve(__dirname, '../..');
/** README's links lead to the second half; on npm's page they lead to the repository. */
const PUBLISHED = [
  /^(dist\/|index\.(js|d\.ts)$|package\.json$|LICENSE\.md$)/,
  /^((README|CHANGELOG|CONTRIBUTING|SECURITY)\.md|compose\.yaml|docs\/.+\.(md|png)|examples\/workflows\/.+\.json)$/,
];
const MAX_PACKED_BYTES = 6 * 1024 * 1024;
const MAX_CORE_BYTES = 2.5 * 1024 * 1024;

let packed: UnpackedPackage;
const file = (name: string): string => packed.file(name);

beforeAll(() => {
  packed = unpackPackage();
});
afterAll(() => packed.remove());

const inFreshNode = (script: string, ...flags: readonly string[]): string =>
  execFileSync(process.execPath, [...flags, '-e', script], { cwd: packed.directory, encoding: 'utf8', env: {} });

it('holds what is built and what explains it, and nothing else, within its size', () => {
  const strays = packed.files
    .map((entry) => entry.path)
    .filter((name) => !PUBLISHED.some((pattern) => pattern.test(name)));
  expect(strays).toEqual([]);
  expect(packed.size).toBeLessThan(MAX_PACKED_BYTES);
  const tokenizer = gzipSync(readFileSync(file('dist/runtime/tokenizer.js'))).length;
  expect(packed.size - tokenizer).toBeLessThan(MAX_CORE_BYTES);
});

it('has no dependencies, and every file that its manifest names', () => {
  const manifest = JSON.parse(readFileSync(file('package.json'), 'utf8')) as {
    dependencies?: object;
    main: string;
    types: string;
    bin: Record<string, string>;
    n8n: { nodes: string[]; credentials: string[] };
  };
  expect(manifest.dependencies).toBeUndefined();
  const named = [
    manifest.main,
    manifest.types,
    ...Object.values(manifest.bin),
    ...manifest.n8n.nodes,
    ...manifest.n8n.credentials,
  ];
  expect(named.filter((name) => !existsSync(file(name)))).toEqual([]);
  for (const icon of ['universalAiAgent.svg', 'universalAiAgent.dark.svg', 'UniversalAiAgent.node.json']) {
    expect(existsSync(file(`dist/nodes/UniversalAiAgent/${icon}`))).toBe(true);
  }
});

it('works as a library without n8n and without any other package', () => {
  const script = `
    const { createRuntime, isRuntimeError } = require(${JSON.stringify(file('index.js'))});
    const runtime = createRuntime({ database: { url: 'postgres://a:b@127.0.0.1:1/c' }, model: { apiKey: 'k' } });
    runtime.run({ config: { message: 'x' }, meta: { tenant_id: '3f2b8c1e-5d4a-4c6b-9e7f-0a1b2c3d4e5f' } })
      .catch((error) => console.log(isRuntimeError(error), error.code)).finally(() => runtime.close());`;
  expect(inFreshNode(script).trim()).toBe('true DB_UNREACHABLE');
});

it('prints its help from the command line', () => {
  const output = execFileSync(process.execPath, [file('dist/runtime/cli.js'), '--help'], { encoding: 'utf8' });
  expect(output).toContain('diagnostics prepare-database');
});

it('holds no source map and no path of the machine that built it', () => {
  for (const { path: name } of packed.files.filter((entry) => entry.path.endsWith('.js'))) {
    const content = readFileSync(file(name), 'utf8');
    expect(content.includes('sourceMappingURL=')).toBe(false);
    expect(content.includes(ROOT)).toBe(false);
  }
});

it('judges a query by the grammar of Postgres, which it brings along', () => {
  const script = `
    const { createRuntime } = require(${JSON.stringify(file('index.js'))});
    const database = { url: 'postgres://a:b@127.0.0.1:1/c' };
    const tool = { code: 'sql_query', transport: 'builtin', description: '', parametersSchema: null, endpoint: null,
      authHeader: null, timeoutMs: null, mcpTool: null, customConfig: {}, transportConfig: {} };
    const tenantId = '3f2b8c1e-5d4a-4c6b-9e7f-0a1b2c3d4e5f';
    const tenant = { tenant: { id: tenantId, isActive: true, settings: {} }, tiers: [], prices: [], tools: [tool] };
    const ledger = { claim: async () => ({ kind: 'claimed', attempt: 1 }), record: async () => ({ isOurs: true }) };
        const plugins = { tenants: { load: async () => tenant }, ledger, model: {} };
    const runtime = createRuntime({ sqlQuery: { database }, plugins });
    const code = async (query) => {
      const output = await runtime.tools.call({ tenantId, tool: 'sql_query', arguments: { query } });
      return output.value.code;
    };
    (async () => {
      console.log(await code('DROP TABLE x'), await code('SELECT 1'));
      console.log(await code('SELECT 1' + '+1'.repeat(4900)), await code('SELECT 1'));
      await runtime.close();
    })();`;
  // The long sum is more than so small a stack holds; how much the usual one holds differs from call to call.
  expect(inFreshNode(script, '--stack-size=200')).toBe('SQL_REFUSED DB_UNREACHABLE\n'.repeat(2));
});
