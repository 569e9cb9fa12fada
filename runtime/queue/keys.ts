import type { ConsumerSettings } from '../contracts/consumer';

/** Every key of the queue begins with the name of its list, so that several lists live side by side. */
export interface QueueKeys {
  readonly list: string;
  /** Tasks on their way: a consumer that waited for one was woken up with it. */
  readonly ingress: string;
  /** Taken tasks that may not be in the queue yet: a hash of id -> what stood on the list. */
  readonly taken: string;
  /** A sorted set of the same ids by the time, in ms, from which another consumer takes them over. */
  readonly takenUntil: string;
  readonly counter: string;
  /** Entries for the dead-letter list whose jobs are about to end: a hash of `id:job id` -> entry. */
  readonly dying: string;
  /** A sorted set of the consumers that stall, by the time, in ms, until which that holds. */
  readonly stalled: string;
  readonly failedList: string;
  readonly forwardList: string;
  /** A sorted set for each tenant, when there is a limit: who holds a slot, and until when. */
  readonly slots: (tenantId: string) => string;
  /** BullMQ's. Its keys are `{prefix}:{queue}:…`. */
  readonly prefix: string;
  readonly queue: string;
  readonly job: (type: string) => string;
}

const QUEUE = 'queue';

export function queueKeys(lists: Pick<ConsumerSettings, 'list' | 'failedList' | 'forwardList'>): QueueKeys {
  const own = (name: string): string => `${lists.list}:${name}`;
  return {
    list: lists.list,
    ingress: own('ingress'),
    taken: own('taken'),
    takenUntil: own('taken-until'),
    counter: own('counter'),
    dying: own('dying'),
    stalled: own('stalled'),
    failedList: lists.failedList,
    forwardList: lists.forwardList ?? '',
    slots: (tenantId) => own(`slots:${tenantId}`),
    prefix: lists.list,
    queue: QUEUE,
    job: (type) => own(`${QUEUE}:${type}`),
  };
}
