import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';

const names = ['chromium', 'chromium-browser', 'google-chrome'];

/**
 * The browser to drive the editor with; installs Debian's or Ubuntu's when that is possible.
 * @param {{ log: (line: string) => void }} options
 * @returns {Promise<string>} its path
 */
export async function ensureChromium({ log }) {
  const found = findOnPath(names);
  if (found) return found;
  if (process.getuid?.() === 0 && findOnPath(['apt-get'])) {
    log('Installing chromium with apt-get ...');
    await run('apt-get', ['update']);
    await run('apt-get', ['install', '-y', '--no-install-recommends', 'chromium']);
    const installed = findOnPath(names);
    if (installed) return installed;
  }
  throw new Error(
    `No browser found. Install Chromium or Google Chrome so that one of ${names.join(', ')} is on the PATH ` +
      '(on Debian: apt-get install chromium).',
  );
}

/** @param {string[]} programs */
function findOnPath(programs) {
  const directories = (process.env.PATH ?? '').split(path.delimiter).filter(Boolean);
  return programs.flatMap((name) => directories.map((directory) => path.join(directory, name))).find(isExecutable);
}

/** @param {string} file */
function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * @param {string} command
 * @param {string[]} args
 */
async function run(command, args) {
  await promisify(execFile)(command, args, {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    maxBuffer: 64 * 1024 * 1024,
  });
}
