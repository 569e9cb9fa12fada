// Loaded into a worker before its own code: tells what the process uses, and profiles it, when it is asked.
import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';

const session = new Session();

const ANSWERS = {
  usage: async () => ({ cpu: process.cpuUsage(), ...process.memoryUsage() }),
  /** What is left after a full collection, with --expose-gc. */
  memory: async () => {
    globalThis.gc?.();
    return process.memoryUsage();
  },
  startProfile: async () => {
    session.connect();
    await session.post('Profiler.enable');
    await session.post('Profiler.setSamplingInterval', { interval: 200 });
    await session.post('Profiler.start');
    return {};
  },
  stopProfile: async ({ file }) => {
    const { profile } = await session.post('Profiler.stop');
    session.disconnect();
    writeFileSync(file, JSON.stringify(profile));
    return {};
  },
};

process.on('message', (message) => {
  if (!Object.hasOwn(ANSWERS, message.probe ?? '')) return;
  ANSWERS[message.probe](message).then(
    (answer) => process.send({ probe: message.probe, ...answer }),
    (error) => process.send({ probe: message.probe, error: error.stack }),
  );
});
process.on('disconnect', () => process.exit(0));
// The worker ends when it wants to, not when we do.
process.channel.unref();
