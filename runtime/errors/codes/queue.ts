import { caller, family, internal, warning } from '../code-row';

/** The queue. */
export const QUEUE_CODES = family('The queue', {
  TASK_TOO_LARGE: caller(
    'The task has {size} bytes; {limit} is the limit.',
    'Put what is large somewhere else, and its address into the task.',
  ),
  TASK_CRASHED: internal(
    'Every process that took the task up was lost; this happened {count} times.',
    'See why the workers end, out of memory for one; then run "universal-ai-agent queue retry-failed".',
  ),
  QUEUE_REDIS_EVICTS: caller(
    'This Redis throws keys away when its memory is full (maxmemory-policy {policy}), so tasks and unwritten bills would be lost.',
    'Set maxmemory-policy noeviction, or use another Redis.',
  ),
  QUEUE_REDIS_UNSUITABLE: caller(
    'This Redis cannot hold a queue: {reason}.',
    'Use a single Redis server of version 6.2 or later that takes writes, and a user who may read INFO and run scripts.',
  ),
  QUEUE_KEY_UNUSABLE: caller(
    'The key "{key}" of Redis holds a {type}, and tasks are a list.',
    'Name another list (AGENT_TASK_LIST, AGENT_FAILED_LIST, AGENT_FORWARD_LIST), or rename what stands there.',
  ),
  QUEUE_CONSUMER_STALLED: warning(
    internal(
      'A consumer of the queue takes no tasks: {reason}.',
      'It reconnects by itself within seconds. If this keeps happening, check its log for what Redis answers, or restart it.',
    ),
  ),
});
