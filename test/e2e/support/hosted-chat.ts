import { execFile } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';

import type { Editor } from '../../../scripts/lib/editor.mjs';

const PACKAGE = '@n8n/chat@1.37.0';
const FOLDER = path.resolve(__dirname, '../../..', '.cache/n8n-chat-1.37.0');
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
};

/** n8n's page for a public chat loads the chat from a content network, which the tests must not need. */
export async function serveHostedChat(page: Editor['page']): Promise<void> {
  await fetchChat();
  await page.route('https://cdn.jsdelivr.net/**', (route) => {
    const [, file] = /\/@n8n\/chat\/(dist\/.+)$/.exec(new URL(route.request().url()).pathname) ?? [];
    if (file === undefined) return route.fulfill({ contentType: 'text/css', body: '' });
    return route.fulfill({ path: path.join(FOLDER, 'package', file), contentType: TYPES[path.extname(file)] });
  });
}

async function fetchChat(): Promise<void> {
  if (existsSync(path.join(FOLDER, 'package'))) return;
  mkdirSync(FOLDER, { recursive: true });
  const run = promisify(execFile);
  const { stdout } = await run('npm', ['pack', '--silent', PACKAGE], { cwd: FOLDER });
  await run('tar', ['xzf', stdout.trim()], { cwd: FOLDER });
}
