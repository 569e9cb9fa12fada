import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

import type { OutboxBacklog } from '../contracts/ledger/outbox';
import type { QueueCounts } from './queue-counts';

/** How one try of a task ended. */
export type TaskOutcome = 'done' | 'retried' | 'dead' | 'deferred' | 'returned' | 'rejected' | 'forwarded';

/** Usage of one try of a task, in the words of its report. */
export interface TaskUsage {
  readonly tokens_used: number;
  readonly cost_usd?: unknown;
  readonly replayed?: unknown;
}

export interface QueueMetrics {
  readonly count: (taskType: string | undefined, outcome: TaskOutcome) => void;
  /** Notes how long a task took that a handler was given, whatever became of it. */
  readonly observeDuration: (taskType: string, durationMs: number) => void;
  /** Adds what a try used, also if it failed; nothing when its answer stood there already. */
  readonly addUsage: (taskType: string, usage: TaskUsage) => void;
  /** The consumer reconnected, since it took no tasks. */
  readonly countRestart: () => void;
  /** The text format of Prometheus. */
  readonly text: () => Promise<string>;
}

const PREFIX = 'universal_ai_agent_';
/** Seconds: from a replay to a long run. */
const BUCKETS = [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

/** `readCounts` and `readBacklog` are asked at every scrape; what rejects is left out of the text. */
export function createMetrics(options: {
  readonly taskTypes: readonly string[];
  readonly readCounts: () => Promise<QueueCounts>;
  readonly readBacklog: () => Promise<OutboxBacklog>;
  readonly isStalled: () => boolean;
  /** Memory, CPU and the lag of the event loop as well. */
  readonly ofProcess: boolean;
}): QueueMetrics {
  const register = new Registry();
  const registers = [register];
  if (options.ofProcess) collectDefaultMetrics({ register, prefix: PREFIX });
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[]): Counter<Label> =>
    new Counter({ name: PREFIX + name, help, labelNames, registers });
  const tasks = counter('tasks_total', 'Tries of tasks by how they ended', ['task_type', 'outcome']);
  const tokens = counter('tokens_total', 'Tokens that tasks used', ['task_type']);
  const cost = counter('cost_usd_total', 'US dollars that tasks cost', ['task_type']);
  const durations = new Histogram({
    name: `${PREFIX}task_duration_seconds`,
    help: 'How long a handler took for a try of a task',
    labelNames: ['task_type'],
    buckets: BUCKETS,
    registers,
  });
  const restarts = counter('consumer_restarts_total', 'How often a stalled consumer has reconnected', []);
  queueGauge(registers, options.readCounts);
  backlogGauges(registers, options.readBacklog);
  stalledGauge(registers, options.isStalled);
  // A type is whatever a producer wrote; each one that is counted for itself costs memory here and at Prometheus.
  const label = (taskType = ''): string => (options.taskTypes.includes(taskType) ? taskType : 'other');
  return {
    count: (taskType, outcome) => tasks.inc({ task_type: label(taskType), outcome }),
    observeDuration: (taskType, durationMs) => durations.observe({ task_type: label(taskType) }, durationMs / 1000),
    addUsage: (taskType, { tokens_used: used, cost_usd: costUsd, replayed }) => {
      if (replayed === true) return;
      const labels = { task_type: label(taskType) };
      tokens.inc(labels, used);
      const usd = Number(costUsd ?? 0);
      if (usd > 0) cost.inc(labels, usd);
    },
    countRestart: () => restarts.inc(),
    text: () => register.metrics(),
  };
}

function queueGauge(registers: Registry[], readCounts: () => Promise<QueueCounts>): void {
  const gauge = new Gauge({
    name: `${PREFIX}queue_tasks`,
    help: 'Tasks on the list, in the queue and on the dead-letter list',
    labelNames: ['state'],
    registers,
    collect: async () => {
      const counts = await readCounts().catch(() => undefined);
      gauge.reset();
      if (counts === undefined) return;
      for (const state of ['pending', 'waiting', 'active', 'delayed', 'dead'] as const) {
        gauge.set({ state }, counts[state]);
      }
    },
  });
}

function backlogGauges(registers: Registry[], readBacklog: () => Promise<OutboxBacklog>): void {
  const read = (): Promise<OutboxBacklog | undefined> => readBacklog().catch(() => undefined);
  const ends = new Gauge({
    name: `${PREFIX}unwritten_ends`,
    help: 'Ends of runs that the ledger has not taken yet',
    labelNames: ['state'],
    registers,
    collect: async () => {
      const backlog = await read();
      ends.reset();
      if (backlog === undefined) return;
      ends.set({ state: 'waiting' }, backlog.waiting);
      ends.set({ state: 'refused' }, backlog.refused);
    },
  });
  const oldest: Gauge = new Gauge({
    name: `${PREFIX}unwritten_ends_oldest_seconds`,
    help: 'How long the oldest of those that wait has waited',
    registers,
    collect: async () => {
      const backlog = await read();
      if (backlog === undefined) oldest.remove();
      else oldest.set(backlog.oldestSeconds);
    },
  });
}

function stalledGauge(registers: Registry[], isStalled: () => boolean): void {
  const gauge: Gauge = new Gauge({
    name: `${PREFIX}consumer_stalled`,
    help: '1 while tasks wait that this consumer has room for and does not take',
    registers,
    collect: () => gauge.set(isStalled() ? 1 : 0),
  });
}
