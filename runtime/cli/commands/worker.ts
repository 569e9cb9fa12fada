import { command, FLAG } from '../command';

export const workerCommand = command({
  words: 'worker',
  help: 'Do the tasks of the Redis list until a signal ends it; --drain: until there are none.',
  options: { drain: FLAG },
  // Loaded when it is asked for: BullMQ is larger than all the rest of the command line.
  run: async ({ drain = false }) => (await import('../run-worker')).runWorker(drain),
});
