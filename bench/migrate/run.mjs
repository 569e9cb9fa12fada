// How long `migrate-workflow` takes for a folder of workflows, report and SQL file included, and how much memory. With
// WORKFLOW_CORPUS, a folder of exported workflows, those are repeated instead of the generated ones.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { workflow } from './workflows.mjs';

const COUNT = 2000;
const BAR_SECONDS = 20;
const CLI = fileURLToPath(new URL('../../dist/runtime/cli.js', import.meta.url));
// Tells at its end how much memory the process had at most.
const TELL_MEMORY =
  "process.on('exit', () => require('node:fs').writeFileSync(process.env.MEMORY_FILE, String(process.resourceUsage().maxRSS)));";

const folder = mkdtempSync(path.join(tmpdir(), 'bench-migrate-'));
try {
  const bytes = writeInput(path.join(folder, 'in'), process.env.WORKFLOW_CORPUS);
  const { seconds, summary, megabytes } = migrate();
  const isWithin = seconds <= BAR_SECONDS;
  const verdict = isWithin ? 'met' : `missed by ${(seconds - BAR_SECONDS).toFixed(1)} s`;
  console.log(`${seconds.toFixed(2).padStart(8)} s   for ${COUNT} workflows (bar <= ${BAR_SECONDS} s): ${verdict}`);
  console.log(
    `${((seconds / COUNT) * 1000).toFixed(2).padStart(8)} ms  a workflow, of ${Math.round(bytes / COUNT / 1000)} kB`,
  );
  console.log(`${megabytes.toFixed(0).padStart(8)} MB  of memory at most`);
  console.log(`            ${summary}`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function writeInput(target, corpus) {
  mkdirSync(target);
  const texts = corpus
    ? readdirSync(corpus, { recursive: true })
        .filter((name) => name.endsWith('.json'))
        .map((name) => readFileSync(path.join(corpus, name), 'utf8'))
    : undefined;
  let bytes = 0;
  for (let index = 0; index < COUNT; index++) {
    const text = texts ? texts[index % texts.length] : JSON.stringify(workflow(index), null, 2);
    bytes += text.length;
    writeFileSync(path.join(target, `${String(index).padStart(4, '0')}.json`), text);
  }
  return bytes;
}

function migrate() {
  const at = (name) => path.join(folder, name);
  const preload = at('tell-memory.cjs');
  const memory = at('memory');
  writeFileSync(preload, TELL_MEMORY);
  const started = performance.now();
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [
      '--require',
      preload,
      CLI,
      'migrate-workflow',
      at('in'),
      '-o',
      at('out'),
      '--sql',
      at('rows.sql'),
      '--report',
      at('report.json'),
    ],
    { encoding: 'utf8', env: { ...process.env, MEMORY_FILE: memory }, maxBuffer: 100_000_000 },
  );
  const seconds = (performance.now() - started) / 1000;
  const summary = stdout.trim().split('\n')[0];
  // Workflows of a corpus may be refused; that nothing is told is a failure.
  if (!/ migrated, /.test(summary ?? '')) throw new Error(`migrate-workflow ended with ${status}: ${stderr}`);
  return { seconds, summary, megabytes: Number(readFileSync(memory, 'utf8')) / 1000 };
}
