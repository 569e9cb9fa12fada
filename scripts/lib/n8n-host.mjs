import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

import { startBackgroundProcess } from './background-process.mjs';
import { n8nEnvironment } from './n8n-environment.mjs';
import { n8nHost } from './n8n-install.mjs';
import { executionOperations, workflowOperations } from './n8n-rest.mjs';
import { createSession, fetchAnew } from './n8n-session.mjs';
import { freePort } from './ports.mjs';
import { onProcessExit } from './process-exit.mjs';

export { ensureHostInstalled } from './n8n-install.mjs';

const packageName = 'n8n-nodes-universal-ai-agent';
const readyDeadlineMs = 120_000;

/**
 * @typedef {object} HostProcess
 * @property {import('./n8n-session.mjs').Rest} rest Any call under /rest; resolves with the reply's `data`, rejects on an HTTP error.
 * @property {string} baseUrl
 * @property {string} userFolder
 * @property {import('./n8n-session.mjs').Owner} owner
 * @property {() => string} logText
 * @property {() => Promise<void>} stop As an operator stops it; may be called twice.
 * @property {() => Promise<void>} kill As a crash ends it: nothing is deleted, so that the same folder can be started again.
 * @typedef {HostProcess & import('./n8n-rest.mjs').Operations} N8nHost
 */

/**
 * Starts a real n8n on free loopback ports, with an owner who is logged in.
 * @param {object} options
 * @param {string} options.postgresUrl a database for n8n's own data
 * @param {string} [options.packageTarball] the packed package, installed before the start
 * @param {string} [options.userFolder] kept on stop and good for another start on the same database;
 *   without it a temporary one is made and deleted
 * @param {Record<string, string>} [options.env] wins over the defaults
 * @param {string[]} [options.nodeOptions] more options of its Node
 * @param {(line: string) => void} options.log
 * @returns {Promise<N8nHost>}
 */
export async function startN8n({ postgresUrl, packageTarball, userFolder, env = {}, nodeOptions, log }) {
  const startedAt = performance.now();
  const folder = openUserFolder(userFolder);
  const { encryptionKey, owner } = identityOf(folder.path);
  if (packageTarball) await installTarball(packageTarball, folder.path);

  const port = await freePort();
  const baseUrl = `http://127.0.0.1:${port}`;
  const settings = { userFolder: folder.path, port, encryptionKey, postgresUrl, nodeOptions };
  const n8n = startProgram(['start'], { ...n8nEnvironment({ ...settings, brokerPort: await freePort() }), ...env });
  const kill = () => n8n.stop({ signal: 'SIGKILL' });
  const stop = async () => {
    await n8n.stop({ signal: 'SIGTERM' });
    folder.remove();
  };
  try {
    await waitUntilReady(n8n, () => isReady(baseUrl));
    const { rest, logIn } = createSession(baseUrl);
    await logIn(owner);
    log(`n8n is ready at ${baseUrl} after ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
    return {
      ...workflowOperations(rest),
      ...executionOperations(rest, baseUrl),
      rest,
      baseUrl,
      userFolder: folder.path,
      owner,
      logText: n8n.logText,
      stop,
      kill,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * Starts a worker of an n8n in queue mode, which `env` of both has to ask for.
 * @param {object} options
 * @param {string} options.postgresUrl that of the main process
 * @param {string} options.userFolder that of the main process, with the package in it
 * @param {number} [options.concurrency] executions at a time
 * @param {Record<string, string>} options.env
 * @returns {Promise<Pick<HostProcess, 'logText' | 'stop' | 'kill'>>}
 */
export async function startN8nWorker({ postgresUrl, userFolder, concurrency = 10, env }) {
  const { encryptionKey } = identityOf(userFolder);
  const [port, brokerPort] = [await freePort(), await freePort()];
  const environment = n8nEnvironment({ userFolder, port, brokerPort, encryptionKey, postgresUrl });
  const worker = startProgram(['worker', `--concurrency=${concurrency}`], { ...environment, ...env });
  await waitUntilReady(worker, async () => worker.logText().includes('n8n worker is now ready'));
  return {
    logText: worker.logText,
    stop: () => worker.stop({ signal: 'SIGTERM' }),
    kill: () => worker.stop({ signal: 'SIGKILL' }),
  };
}

/**
 * @param {string[]} args
 * @param {Record<string, string | undefined>} env
 */
function startProgram(args, env) {
  const cwd = env.N8N_USER_FOLDER ?? tmpdir();
  return startBackgroundProcess({
    command: n8nHost.node(),
    args: [n8nHost.program, ...args],
    env,
    cwd,
    exitSignal: 'SIGKILL',
  });
}

/** @param {string | undefined} given */
function openUserFolder(given) {
  if (given !== undefined) {
    mkdirSync(given, { recursive: true });
    return { path: given, remove: () => {} };
  }
  const made = mkdtempSync(path.join(tmpdir(), 'universal-ai-agent-n8n-'));
  const remove = () => rmSync(made, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  const withdraw = onProcessExit(remove);
  return {
    path: made,
    remove: () => {
      withdraw();
      remove();
    },
  };
}

/**
 * What a later start in the same folder has to know again.
 * @param {string} userFolder
 * @returns {{ encryptionKey: string, owner: import('./n8n-session.mjs').Owner }}
 */
function identityOf(userFolder) {
  const file = path.join(userFolder, 'identity.json');
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8'));
  const identity = {
    encryptionKey: randomBytes(24).toString('hex'),
    // n8n wants a capital letter and a digit in it.
    owner: { email: 'owner@example.com', password: `Owner1-${randomBytes(9).toString('hex')}` },
  };
  writeFileSync(file, JSON.stringify(identity), { mode: 0o600 });
  return identity;
}

/**
 * Not with npm: that would put a second copy of the peer `n8n-workflow` beside n8n's own.
 * @param {string} tarball
 * @param {string} userFolder
 */
async function installTarball(tarball, userFolder) {
  const directory = path.join(userFolder, '.n8n', 'nodes', 'node_modules', packageName);
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  await promisify(execFile)('tar', ['-xzf', tarball, '-C', directory, '--strip-components=1']);
}

/**
 * @param {import('./background-process.mjs').BackgroundProcess} n8n
 * @param {() => Promise<boolean>} check
 */
async function waitUntilReady(n8n, check) {
  let ended = '';
  void n8n.ended.then((reason) => (ended = reason));
  const deadline = performance.now() + readyDeadlineMs;
  while (!(await check())) {
    if (ended || performance.now() > deadline) {
      const reason = ended || `was not ready after ${readyDeadlineMs / 1000} s`;
      throw new Error(`n8n ${reason}. The end of its log:\n${n8n.logText().slice(-4_000)}`);
    }
    await sleep(200);
  }
}

/** @param {string} baseUrl */
async function isReady(baseUrl) {
  try {
    const response = await fetchAnew(`${baseUrl}/healthz/readiness`, { signal: AbortSignal.timeout(5_000) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
