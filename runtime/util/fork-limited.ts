import { type ChildProcess, fork } from 'node:child_process';

/** A job that gets no processor is given up after this. */
const MAX_MS = 30_000;

/**
 * A module that runs before the program, in its process: it ends that process when the job sent last has used up its processor
 * time. A thread of its own measures, because the program's may be busy without an end. Time in which other processes had the
 * processor does not count, so a busy machine accepts what a quiet one does.
 */
const watch = (maxMs: number): string =>
  `data:text/javascript,${encodeURIComponent(`
import { Worker } from 'node:worker_threads';
const begun = new Float64Array(new SharedArrayBuffer(8));
const used = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
process.on('message', () => { begun[0] = used(); });
new Worker(
  \`const { workerData: begun } = require('node:worker_threads');
  setInterval(() => {
    const { user, system } = process.cpuUsage();
    if ((user + system) / 1000 - begun[0] > ${maxMs}) process.kill(process.pid, 'SIGKILL');
  }, 50);\`,
  { eval: true, workerData: begun },
).unref();
`)}`;

/**
 * Starts a program whose work outsiders decide about, as a process of its own. It gets no environment variables, `memoryMb` of
 * heap, and `processorMs` for each job that `askFork` sends it.
 */
export function forkLimited(file: string, memoryMb: number, processorMs = 5000): ChildProcess {
  return fork(file, [], {
    env: {},
    execArgv: [`--max-old-space-size=${memoryMb}`, '--import', watch(processorMs)],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
}

/** Sends the program a job and resolves with its answer. Rejects when the process ends first, or after half a minute. */
export function askFork<Answer>(child: ChildProcess, job: object): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const tooLong = setTimeout(() => end(new Error('it took too long')), MAX_MS);
    const onEnd = (): void => end(new Error('the process ended'));
    const onMessage = (answer: unknown): void => {
      stop();
      resolve(answer as Answer);
    };
    const stop = (): void => {
      clearTimeout(tooLong);
      child.off('message', onMessage).off('error', end).off('exit', onEnd);
    };
    const end = (error: Error): void => {
      stop();
      reject(error);
    };
    child.on('message', onMessage).on('error', end).on('exit', onEnd);
    child.send(job, (error) => {
      if (error !== null) end(error);
    });
  });
}
