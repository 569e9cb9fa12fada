import { every } from '../util/clock';
import type { Consumer, Log } from '../worker';
import { writeLine } from './output';
import { terminal } from './terminal';

const PROGRESS_MS = 10_000;

/** The levels, the least urgent one first. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;

export type LogLevel = Parameters<Log>[0];

/** One line of JSON on standard output for what is at least so urgent. */
export function logFrom(least: LogLevel): Log {
  const written = LOG_LEVELS.slice(LOG_LEVELS.indexOf(least));
  return (level, message, facts = {}) => {
    if (!written.includes(level)) return;
    writeLine(terminal().stdout, { time: new Date().toISOString(), level, msg: message, ...facts });
  };
}

/** Every ten seconds while there is something to do: how it goes, for a person on a terminal, else in the log. */
export function reportProgress(consumer: Consumer, log: Log): () => void {
  const report = async (): Promise<void> => {
    const { ok, running, pending, waiting, delayed, dead, paused } = await consumer.health();
    if (!ok || running + pending + waiting + delayed === 0) return;
    const counts = { running, pending, waiting, delayed, dead };
    if (terminal().stderr.isTTY) {
      const line = Object.entries(counts).map(([name, count]) => `${count} ${name}`);
      terminal().stderr.write(`${line.join(', ')}${paused ? ' (paused)' : ''}\n`);
    } else {
      log('info', 'progress', { ...counts, paused });
    }
  };
  return every(PROGRESS_MS, () => void report());
}
