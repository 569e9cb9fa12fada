import { openQueueAdmin } from '../../worker';
import { type Options, UsageError } from '../arguments';
import { readQueue } from '../environment';
import { printJson } from '../output';

type Action = (admin: Awaited<ReturnType<typeof openQueueAdmin>>, options: Options) => Promise<unknown>;

const ACTIONS: Readonly<Record<string, Action>> = {
  status: (admin) => admin.status(),
  pause: async (admin) => {
    await admin.pause();
    return admin.status();
  },
  resume: async (admin) => {
    await admin.resume();
    return admin.status();
  },
  'retry-failed': (admin, { task }) => admin.retryDead({ taskId: task }),
  'drop-unwritten': async (admin, { entry }) => {
    if (entry === undefined) throw new UsageError('queue drop-unwritten needs --entry ID.');
    const dropped = await admin.dropUnwritten(entry);
    if (dropped === undefined) throw new UsageError(`queue status names no entry ${entry}.`);
    return { dropped };
  },
};

/** `queue status`, `queue pause`, `queue resume`, `queue retry-failed` and `queue drop-unwritten`. */
export async function queueCommand(action: string | undefined, options: Options): Promise<number> {
  const run = action !== undefined && Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
  if (run === undefined) throw new UsageError(`queue needs one of: ${Object.keys(ACTIONS).join(', ')}.`);
  const admin = await openQueueAdmin(readQueue());
  try {
    printJson(await run(admin, options));
    return 0;
  } finally {
    await admin.close();
  }
}
