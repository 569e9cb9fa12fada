// Says where n8n's processor time goes: a .cpuprofile for each subject, which Chrome's or VS Code's tools open.
import { writeFileSync } from 'node:fs';
import path from 'node:path';

import { createRunner } from './executions.mjs';

/** Any free port, since the task runner inherits the option. */
export const INSPECTOR_OPTION = '--inspect=127.0.0.1:0';

export async function profileSubjects({ engine, servers, subjects, settings, onProgress, directory }) {
  const runner = await createRunner(engine, servers);
  const inspector = await connect(engine.logText());
  const batch = { runs: settings.runs * settings.rounds, inFlight: 1 };
  try {
    await inspector.send('Profiler.enable');
    await inspector.send('Profiler.setSamplingInterval', { interval: 200 });
    for (const subject of subjects) {
      onProgress(`profiling ${subject}`);
      await runner.runBatch(subject, { runs: settings.warmUpRuns, inFlight: 1 });
      await inspector.send('Profiler.start');
      await runner.runBatch(subject, batch);
      const { profile } = await inspector.send('Profiler.stop');
      const file = path.join(directory, `${subject}.cpuprofile`);
      writeFileSync(file, JSON.stringify(profile));
      console.log(`${file} (${batch.runs} executions)`);
    }
  } finally {
    inspector.close();
    await runner.close();
  }
}

/** n8n itself is the first to say where its inspector listens. */
async function connect(log) {
  const url = /Debugger listening on (ws:\S+)/.exec(log)?.[1];
  if (url === undefined) throw new Error('n8n has not opened an inspector');
  const socket = new WebSocket(url);
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = () => reject(new Error(`no connection to ${url}`));
  });
  const waiting = new Map();
  socket.onmessage = ({ data }) => {
    const { id, result, error } = JSON.parse(data);
    waiting.get(id)?.({ result, error });
    waiting.delete(id);
  };
  let lastId = 0;
  const send = async (method, params = {}) => {
    const id = (lastId += 1);
    const answered = new Promise((resolve) => waiting.set(id, resolve));
    socket.send(JSON.stringify({ id, method, params }));
    const { result, error } = await answered;
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result;
  };
  return { send, close: () => socket.close() };
}
