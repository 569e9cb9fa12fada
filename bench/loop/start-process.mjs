// Child processes that are asked one question at a time.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/**
 * Starts a script of this folder, or one named by its URL. `ask` sends a question and gives the reply, or rejects when the
 * child fails. `options` are those of `fork`.
 */
export function startProcess(script, args = [], options = {}) {
  const child = fork(fileURLToPath(new URL(script, import.meta.url)), args, options);

  async function nextMessage() {
    const abort = new AbortController();
    const { signal } = abort;
    try {
      const exited = once(child, 'exit', { signal }).then(([code]) => {
        throw new Error(`${script} ${args[0] ?? ''} ended with code ${code}`);
      });
      const [message] = await Promise.race([once(child, 'message', { signal }), exited]);
      if (message.error !== undefined) throw new Error(`${script} ${args[0] ?? ''}: ${message.error}`);
      return message;
    } finally {
      abort.abort();
    }
  }

  async function ask(question) {
    child.send(question);
    return nextMessage();
  }

  return { pid: child.pid, nextMessage, ask, stop: () => child.connected && child.disconnect() };
}

/** The model server, and what it has spent of its own CPU (to see whether it was the one that had no more to give). */
export async function startModelServer() {
  const server = startProcess('./model-server.mjs');
  const { port } = await server.nextMessage();
  const cpuMs = async () => {
    const { cpu } = await server.ask({});
    return (cpu.user + cpu.system) / 1000;
  };
  return { origin: `http://127.0.0.1:${port}`, cpuMs, stop: server.stop };
}
