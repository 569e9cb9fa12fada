import { UsageError } from '../arguments';
import { command, text } from '../command';
import { readQueue } from '../environment';
import { printJson } from '../output';

// Loaded when it is asked for: BullMQ is larger than all the rest of the command line.
type Admin = Awaited<ReturnType<(typeof import('../../worker'))['openQueueAdmin']>>;

export const queueCommands = [
  command({
    words: 'queue status',
    help: 'What waits, runs and is dead, and how many workers there are.',
    run: () => withQueue((admin) => admin.status()),
  }),
  command({
    words: 'queue pause',
    help: 'No worker takes another task.',
    run: () => withQueue((admin) => admin.pause().then(admin.status)),
  }),
  command({
    words: 'queue resume',
    help: 'Workers go on.',
    run: () => withQueue((admin) => admin.resume().then(admin.status)),
  }),
  command({
    words: 'queue retry-failed',
    help: 'Move dead tasks back to the list.',
    options: { task: text('ID') },
    run: ({ task }) => withQueue((admin) => admin.retryDead({ taskId: task })),
  }),
  command({
    words: 'queue drop-unwritten',
    help: 'Forget the end of a run that the ledger refuses; prints the usage to book by hand afterwards.',
    options: { entry: { ...text('ID'), optional: false } },
    run: ({ entry }) => {
      if (entry === undefined) throw new UsageError('queue drop-unwritten needs --entry ID.');
      return withQueue(async (admin) => {
        const dropped = await admin.dropUnwritten(entry);
        if (dropped === undefined) throw new UsageError(`queue status names no entry ${entry}.`);
        return { dropped };
      });
    },
  }),
];

async function withQueue(work: (admin: Admin) => Promise<unknown>): Promise<number> {
  const queue = readQueue();
  const { openQueueAdmin } = await import('../../worker');
  const admin = await openQueueAdmin(queue);
  try {
    printJson(await work(admin));
    return 0;
  } finally {
    await admin.close();
  }
}
