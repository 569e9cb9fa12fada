// How much processor time n8n has used, its task runner included. Linux tells; elsewhere there is no figure.
import { readdirSync, readFileSync } from 'node:fs';

import { n8nHost } from '../../scripts/lib/n8n-install.mjs';

/** What /proc counts in: 100 a second on every Linux that Node runs on. */
const TICK_MS = 10;

/** A function that gives the milliseconds so far of the n8n that this process has started last; undefined without /proc. */
export function processorClock() {
  const processes = listProcesses();
  const ours = processes.filter(({ id, parent }) => parent === process.pid && isN8n(id));
  const [newest] = ours.sort((a, b) => b.id - a.id);
  if (newest === undefined) return undefined;
  return () => treeOf(newest.id, listProcesses()).reduce((sum, { ticks }) => sum + ticks, 0) * TICK_MS;
}

function listProcesses() {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name) => readProcess(name));
  } catch {
    return [];
  }
}

/** [] when it has ended meanwhile. */
function readProcess(id) {
  try {
    const stat = readFileSync(`/proc/${id}/stat`, 'utf8');
    // The name before the bracket may hold spaces; after it come state, parent, ... and from the 11th on the times:
    // its own in user and system mode, then those of its children that have ended.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const ticks = fields.slice(11, 15).reduce((sum, value) => sum + Number(value), 0);
    return [{ id: Number(id), parent: Number(fields[1]), ticks }];
  } catch {
    return [];
  }
}

function treeOf(id, processes) {
  const own = processes.filter((one) => one.id === id);
  const children = processes.filter(({ parent }) => parent === id);
  return [...own, ...children.flatMap((child) => treeOf(child.id, processes))];
}

function isN8n(id) {
  try {
    return readFileSync(`/proc/${id}/cmdline`, 'utf8').includes(n8nHost.program);
  } catch {
    return false;
  }
}
