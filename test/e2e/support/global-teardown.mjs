import { rmSync } from 'node:fs';

export default async function globalTeardown() {
  const { n8n, postgres, logDirectory } = globalThis.__e2e ?? {};
  await n8n?.stop();
  await postgres?.stop();
  if (logDirectory !== undefined) rmSync(logDirectory, { recursive: true, force: true });
}
