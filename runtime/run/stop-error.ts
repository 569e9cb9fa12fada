import { DEFAULTS } from '../config/runtime-config';
import type { AgentTask } from '../contracts/task';
import { RuntimeError } from '../errors/runtime-error';
import type { Run } from './run';

/** How long a task may take, in milliseconds. */
export function timeoutOf({ config }: AgentTask): number {
  return (config.timeout_seconds ?? DEFAULTS.timeoutSeconds) * 1000;
}

/** Why a run was stopped: RUN_CANCELLED or RUN_TIMEOUT; undefined while it was not. */
export function stopError({ deadline, request }: Run): RuntimeError | undefined {
  const cause = deadline.cause();
  if (cause === undefined) return undefined;
  return cause === 'cancelled'
    ? new RuntimeError('RUN_CANCELLED')
    : new RuntimeError('RUN_TIMEOUT', { timeoutSeconds: timeoutOf(request) / 1000 });
}
