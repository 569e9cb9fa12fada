import { spawn } from 'node:child_process';

import { onProcessExit } from './process-exit.mjs';

const maxLogCharacters = 4_000_000;

/**
 * @typedef {object} BackgroundProcess
 * @property {Promise<string>} ended Resolves, never rejects, with how it ended.
 * @property {() => string} logText What it has written so far; of a very long log the end.
 * @property {(options: { signal: NodeJS.Signals, graceMs?: number }) => Promise<void>} stop Ends it, by force after the grace.
 */

/**
 * Starts a program that runs until it is stopped, or until this process exits.
 * @param {object} options
 * @param {string} options.command
 * @param {string[]} options.args
 * @param {NodeJS.ProcessEnv} options.env
 * @param {string} options.cwd
 * @param {NodeJS.Signals} options.exitSignal what to send when this process exits without stopping it
 * @param {{ uid?: number, gid?: number }} [options.user]
 * @returns {BackgroundProcess}
 */
export function startBackgroundProcess({ command, args, env, cwd, exitSignal, user = {} }) {
  // A process group of its own: Ctrl-C in a terminal reaches only us, who stop things in order,
  // and what the program itself starts can be ended with it.
  const child = spawn(command, args, { ...user, env, cwd, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  /** @param {Buffer} chunk */
  const append = (chunk) => {
    log = (log + chunk.toString()).slice(-maxLogCharacters);
  };
  child.stdout.on('data', append);
  child.stderr.on('data', append);

  const withdraw = onProcessExit(() => signalGroup(child.pid, exitSignal));
  let running = true;
  /** @type {Promise<string>} */
  const ended = new Promise((resolve) => {
    child.once('error', (error) => resolve(`could not be started: ${error.message}`));
    child.once('exit', (code, signal) => resolve(signal ? `was ended by ${signal}` : `ended with code ${code}`));
  }).then((reason) => {
    running = false;
    withdraw();
    signalGroup(child.pid, 'SIGKILL');
    return /** @type {string} */ (reason);
  });

  return {
    ended,
    logText: () => log,
    async stop({ signal, graceMs = 15_000 }) {
      if (!running) return;
      child.kill(signal);
      const timer = setTimeout(() => signalGroup(child.pid, 'SIGKILL'), graceMs);
      await ended;
      clearTimeout(timer);
    },
  };
}

/**
 * @param {number | undefined} pid
 * @param {NodeJS.Signals} signal
 */
function signalGroup(pid, signal) {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // Nothing of the group is left.
  }
}
