const { execFile } = require('node:child_process');
const { rm, readFile, writeFile, readdir, chmod, copyFile } = require('node:fs/promises');
const path = require('node:path');
const { promisify } = require('node:util');

const { build, transform } = require('esbuild');
const { dest, parallel, series, src } = require('gulp');

const RUNTIME = path.join(__dirname, 'dist/runtime');
const TARGET = 'node22';

const clean = () => rm(path.join(__dirname, 'dist'), { recursive: true, force: true });

/** Nodes and credentials stay one file each: n8n loads them by name. They find the runtime when they first run. */
const nodes = () =>
  build({
    entryPoints: ['nodes/**/*.ts', 'credentials/*.ts'],
    outdir: 'dist',
    outbase: '.',
    platform: 'node',
    format: 'cjs',
    target: TARGET,
    supported: { 'dynamic-import': false },
  });

const leanUndici = {
  name: 'lean-undici',
  setup: ({ onResolve }) => {
    onResolve({ filter: /^undici$/ }, () => ({ path: path.join(__dirname, 'scripts/lib/lean-undici.cjs') }));
  },
};

/** BullMQ without its queue in Postgres and without cron: a third of it, which is never called. */
const leanBullmq = {
  name: 'lean-bullmq',
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^(\.\/postgres|cron-parser)$/ }, ({ path: name, importer }) =>
      importer.includes('/bullmq/dist/') ? { path: name, namespace: 'lean-bullmq' } : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'lean-bullmq' }, () => ({ contents: 'module.exports = {};' }));
  },
};

/**
 * Everything that the runtime needs, bundled. First as ES modules, since only those can be split into shared chunks,
 * then each chunk as CommonJS, which is what n8n requires.
 */
async function runtime() {
  await build({
    entryPoints: {
      index: 'runtime/index.ts',
      host: 'runtime/host.ts',
      worker: 'runtime/worker.ts',
      cli: 'runtime/cli/entry.ts',
      testing: 'runtime/testing/index.ts',
      'page-process': 'runtime/tools/web/page-process.ts',
      'schema-process': 'runtime/tools/schemas/schema-process.ts',
      // Loaded where usage has to be estimated.
      tokenizer: 'runtime/util/text/count-tokens.ts',
    },
    outdir: RUNTIME,
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: TARGET,
    mainFields: ['module', 'main'],
    loader: { '.sql': 'text' },
    chunkNames: 'chunk-[hash]',
    external: ['pg-native', 'pg-cloudflare'],
    plugins: [leanUndici, leanBullmq],
    legalComments: 'none',
  });
  for (const file of await readdir(RUNTIME)) await toCommonJs(path.join(RUNTIME, file));
  // Its loader reads it from the folder that it stands in itself.
  await copyFile(require.resolve('libpg-query/wasm/libpg-query.wasm'), path.join(RUNTIME, 'libpg-query.wasm'));
  await chmod(path.join(RUNTIME, 'cli.js'), 0o755);
}

async function toCommonJs(file) {
  const { code } = await transform(await readFile(file, 'utf8'), {
    format: 'cjs',
    platform: 'node',
    target: TARGET,
    minify: true,
    // The MCP SDK writes warnings there, which belong to nobody in n8n and would spoil the command line's output.
    drop: ['console'],
    supported: { 'dynamic-import': false },
  });
  await writeFile(file, code);
}

/** Types for who uses the library. */
const types = async () => {
  const args = [
    '--noEmit',
    'false',
    '--declaration',
    '--emitDeclarationOnly',
    '--outDir',
    'dist/types',
    '--rootDir',
    '.',
  ];
  await promisify(execFile)(process.execPath, [require.resolve('typescript/bin/tsc'), '-p', '.', ...args], {
    cwd: __dirname,
  });
};

/** Icons and codex files stand beside the node that they belong to. */
const assets = () => src('nodes/**/*.{svg,json}', { base: '.', encoding: false }).pipe(dest('dist'));

exports.default = series(clean, parallel(nodes, runtime, assets, types));
