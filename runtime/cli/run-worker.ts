import type { RuntimeError } from '../errors/runtime-error';
import { assertReady, databaseStatus } from '../storage/schema/migrate';
import { type Consumer, type Log, startConsumer } from '../worker';
import { openWorkerRuntime, readWorker, withDatabase, type WorkerSettings } from './environment';
import { whenThere } from './when-there';
import { serveHealth } from './worker-http';
import { logFrom, reportProgress } from './worker-log';

/** Grace for writes under way when a start is stopped. */
const END_MS = 500;

/** Does the tasks of the Redis list until a signal ends it, or with `drain` until there are none. */
export async function runWorker(drain: boolean): Promise<number> {
  const settings = readWorker();
  const log = logFrom(settings.logLevel);
  const runtime = openWorkerRuntime(settings, log);
  const ending = awaitSignal();
  const patience = {
    waitMs: settings.startMs,
    signal: ending.signal,
    onAway: ({ code, message: reason }: RuntimeError) =>
      log('warn', 'waiting for a server before the start', { code, reason }),
  };
  let consumer: Consumer | undefined;
  let server: Health | undefined;
  try {
    const { host, port } = settings;
    if (port !== undefined) server = await serveHealth(() => consumer, { host, port });
    await whenThere(checkDatabase, patience);
    consumer = await whenThere(
      () =>
        startConsumer(settings.consumer, {
          handle: ({ task, signal }) => runtime.handle(task, { signal }),
          onDead: async ({ task, error }) => {
            if (task !== undefined) await runtime.deliverFailure(task, error);
          },
          log,
        }),
      patience,
    );
    const { list, concurrency } = settings.consumer;
    log('info', 'worker started', { ...server?.address, list, concurrency });
    await workUntilEnd(consumer, { settings, log, drain, ending, server });
    return 0;
  } catch (error) {
    if (consumer !== undefined || !ending.signal.aborted) throw error;
    // Stopped while it waited. A pending connection attempt must not delay the exit.
    log('info', 'worker ended');
    setTimeout(() => process.exit(0), END_MS).unref();
    return 0;
  } finally {
    ending.forget();
    await consumer?.close({ graceMs: 0 });
    await server?.close();
    await runtime.close();
  }
}

type Health = Awaited<ReturnType<typeof serveHealth>>;

/** Throws what keeps it from the database: every task would fail. */
function checkDatabase(): Promise<void> {
  return withDatabase(async (postgres) => assertReady(await databaseStatus(postgres)));
}

interface Working {
  readonly settings: WorkerSettings;
  readonly log: Log;
  readonly drain: boolean;
  readonly ending: Ending;
  readonly server?: Health;
}

async function workUntilEnd(consumer: Consumer, { settings, log, drain, ending, server }: Working): Promise<void> {
  const { graceMs } = settings;
  const stopProgress = reportProgress(consumer, log);
  try {
    await (drain ? Promise.race([consumer.idle(), ending.signalled]) : ending.signalled);
    log('info', 'worker ends', { grace_ms: graceMs });
    server?.markEnding();
    await consumer.close({ graceMs });
    log('info', 'worker ended');
  } finally {
    stopProgress();
  }
}

interface Ending {
  readonly signalled: Promise<unknown>;
  /** Aborts with the first signal. */
  readonly signal: AbortSignal;
  readonly forget: () => void;
}

/** Waits for the first SIGTERM or SIGINT; a second one ends the process at once, as if nobody listened. */
function awaitSignal(): Ending {
  const { promise: signalled, resolve } = Promise.withResolvers();
  const ended = new AbortController();
  const forget = (): void => {
    process.off('SIGTERM', onSignal).off('SIGINT', onSignal);
  };
  const onSignal = (signal: unknown): void => {
    forget();
    ended.abort();
    resolve(signal);
  };
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal);
  return { signalled, signal: ended.signal, forget };
}
