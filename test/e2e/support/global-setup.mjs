import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { startN8n } from '../../../scripts/lib/n8n-host.mjs';
import { buildPackage } from '../../../scripts/lib/package.mjs';
import { startPostgres } from '../../../scripts/lib/postgres.mjs';
import { CHROMIUM, programPath, REDIS } from '../../../scripts/lib/system-programs.mjs';

/** One real n8n for the whole run, with the packed package in it, on one real Postgres. */
export default async function globalSetup(_config, { displayName }) {
  // Missing, it is one message here instead of one for each test.
  (displayName.name === 'smoke' ? [REDIS] : [CHROMIUM, REDIS]).forEach(programPath);
  const postgres = await startPostgres();
  const logFile = path.join(mkdtempSync(path.join(tmpdir(), 'universal-ai-agent-log-')), 'n8n.log');
  const packageTarball = buildPackage();
  const n8n = await startN8n({
    postgresUrl: await postgres.createDatabase('n8n'),
    packageTarball,
    env: {
      N8N_LOG_OUTPUT: 'console,file',
      N8N_LOG_LEVEL: 'debug',
      N8N_LOG_FILE_LOCATION: logFile,
    },
    log: (line) => process.stdout.write(`${line}\n`),
  });
  globalThis.__e2e = { postgres, n8n, logDirectory: path.dirname(logFile) };
  process.env.TEST_POSTGRES_URL = postgres.url;
  process.env.TEST_POSTGRES_ADMIN_URL = postgres.adminUrl;
  process.env.TEST_N8N = JSON.stringify({ baseUrl: n8n.baseUrl, owner: n8n.owner, logFile, packageTarball });
}
