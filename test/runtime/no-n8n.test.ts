import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';

import { buildSync } from 'esbuild';

const ROOT = resolve(__dirname, '../..');

it('the runtime and all that it uses do without n8n', () => {
  const { metafile } = buildSync({
    entryPoints: [resolve(ROOT, 'runtime/index.ts')],
    absWorkingDir: ROOT,
    bundle: true,
    platform: 'node',
    write: false,
    metafile: true,
    external: ['pg-native'],
    loader: { '.sql': 'text' },
    outdir: 'unused',
  });
  const inputs = Object.keys(metafile.inputs);
  expect(inputs).toContain('runtime/agent.ts');
  expect(inputs.filter((file) => /^nodes\/|node_modules\/(n8n-|@n8n\/)/.test(file))).toEqual([]);
  const imports = Object.values(metafile.inputs).flatMap((input) => input.imports.map((imported) => imported.path));
  expect(imports.filter((path) => /^n8n/.test(path))).toEqual([]);
});

it('importing the runtime opens nothing: the process ends by itself', () => {
  const bundle = buildSync({
    entryPoints: [resolve(ROOT, 'runtime/index.ts')],
    bundle: true,
    platform: 'node',
    write: false,
    external: ['pg-native'],
    loader: { '.sql': 'text' },
  });
  const script = bundle.outputFiles[0]?.text ?? '';
  const run = `${script}\nprocess.on('exit', () => console.log(Object.keys(module.exports).includes('createRuntime')));`;
  expect(execFileSync(process.execPath, ['-'], { input: run, encoding: 'utf8', timeout: 20_000 }).trim()).toBe('true');
});
