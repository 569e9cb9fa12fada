import { assertReady, databaseStatus } from '../storage/schema/migrate';
import { type Consumer, startConsumer } from '../worker';
import { openWorkerRuntime, readWorker, withDatabase, type WorkerSettings } from './environment';
import { serveHealth } from './worker-http';
import { reportProgress, writeLog } from './worker-log';

/** Does the tasks of the Redis list until a signal ends it, or with `drain` until there are none. */
export async function runWorker(drain: boolean): Promise<number> {
  const settings = readWorker();
  await checkDatabase();
  const runtime = openWorkerRuntime(settings);
  try {
    const consumer = await startConsumer(settings.consumer, {
      handle: ({ task, signal }) => runtime.handle(task, { signal }),
      onDead: async ({ task, error }) => {
        if (task !== undefined) await runtime.deliverFailure(task, error);
      },
      log: writeLog,
    });
    await workUntilEnd(consumer, settings, drain);
    return 0;
  } finally {
    await runtime.close();
  }
}

/** Throws what keeps it from the database: every task would fail. */
function checkDatabase(): Promise<void> {
  return withDatabase(async (postgres) => assertReady(await databaseStatus(postgres)));
}

async function workUntilEnd(consumer: Consumer, settings: WorkerSettings, drain: boolean): Promise<void> {
  const { host, port, graceMs, consumer: config } = settings;
  const ending = awaitSignal();
  const stopProgress = reportProgress(consumer);
  try {
    const server = port === undefined ? undefined : await serveHealth(consumer, { host, port });
    writeLog('info', 'worker started', { ...server?.address, list: config.list, concurrency: config.concurrency });
    await (drain ? Promise.race([consumer.idle(), ending.signalled]) : ending.signalled);
    writeLog('info', 'worker ends', { grace_ms: graceMs });
    server?.markEnding();
    await consumer.close({ graceMs });
    await server?.close();
    writeLog('info', 'worker ended');
  } finally {
    stopProgress();
    ending.forget();
    await consumer.close({ graceMs: 0 });
  }
}

/** Resolves with the first SIGTERM or SIGINT; a second one ends the process at once, as if nobody listened. */
function awaitSignal(): { readonly signalled: Promise<unknown>; readonly forget: () => void } {
  const { promise: signalled, resolve } = Promise.withResolvers();
  const forget = (): void => {
    process.off('SIGTERM', onSignal).off('SIGINT', onSignal);
  };
  const onSignal = (signal: unknown): void => {
    forget();
    resolve(signal);
  };
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal);
  return { signalled, forget };
}
