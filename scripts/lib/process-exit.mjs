import { constants } from 'node:os';

/** @type {Array<() => void>} */
const cleanUps = [];

const signals = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']);

/**
 * Runs a synchronous clean-up when this process exits, also when a signal or an error ends it.
 * The last one registered runs first.
 * @param {() => void} cleanUp
 * @returns {() => void} withdraws it
 */
export function onProcessExit(cleanUp) {
  if (cleanUps.length === 0) listen();
  cleanUps.push(cleanUp);
  return () => {
    const index = cleanUps.indexOf(cleanUp);
    if (index >= 0) cleanUps.splice(index, 1);
    if (cleanUps.length === 0) stopListening();
  };
}

function listen() {
  process.on('exit', runCleanUps);
  for (const signal of signals) process.on(signal, exitOnSignal);
}

function stopListening() {
  process.off('exit', runCleanUps);
  for (const signal of signals) process.off(signal, exitOnSignal);
}

function runCleanUps() {
  for (const cleanUp of cleanUps.splice(0).reverse()) {
    try {
      cleanUp();
    } catch (error) {
      // The others must still run, and the exit code must stay what it is.
      process.stderr.write(`Clean-up at exit failed: ${String(error)}\n`);
    }
  }
}

/** @param {NodeJS.Signals} signal */
function exitOnSignal(signal) {
  // A program with a handler of its own stops in its own way; its exit comes here all the same.
  if (process.listenerCount(signal) > 1) return;
  process.exit(128 + constants.signals[signal]);
}
