import type { Outgoing, OutgoingReply } from '../../../../runtime/contracts/tools/outgoing';
import type * as Sending from '../../../../runtime/tasks/answers/webhook';
import { withCode } from '../../../support/setup/matchers';

const CLOCK = '../../../../runtime/util/clock';
const slept = jest.fn<Promise<void>, [number]>(() => Promise.resolve());
let sendWebhook: typeof Sending.sendWebhook;
beforeAll(async () => {
  jest.doMock(CLOCK, () => ({ ...jest.requireActual<object>(CLOCK), sleep: slept }));
  ({ sendWebhook } = await import('../../../../runtime/tasks/answers/webhook'));
});
beforeEach(() => slept.mockClear());

/** Sends one webhook to a receiver that gives these answers, and returns how often it was asked. */
async function send(...answers: readonly Partial<OutgoingReply>[]): Promise<number> {
  let asked = 0;
  const answer = (): OutgoingReply =>
    ({ kind: 'answered', status: 200, text: '', isCut: false, ...answers[asked++] }) as OutgoingReply;
  const store = { takeWebhook: () => Promise.resolve({ kind: 'ours' }), endWebhook: () => Promise.resolve() };
  const outgoing = { send: () => Promise.resolve(answer()) } as unknown as Outgoing;
  const webhook = { marker: 'm', url: 'https://hooks.example.com', body: {}, idempotencyKey: 'k' };
  const rules = { allowsHost: () => true, isRestricted: false };
  await sendWebhook({ store: store as never, outgoing }, { ...webhook, rules }).catch((error: unknown) => {
    throw Object.assign(error as Error, { asked });
  });
  return asked;
}

it.each([503, 429])('a webhook answered %s is sent again after as long as its receiver says', async (status) => {
  expect(await send({ status, retryAfter: 5 }, { status, retryAfter: 2 })).toBe(3);
  expect(slept.mock.calls.map(([delayMs]) => delayMs)).toEqual([5000, 2000]);
});

it('is left to the next attempt where that is far', async () => {
  const sending = send({ status: 503, retryAfter: 6 });
  await expect(sending).rejects.toThrow(withCode('CALLBACK_FAILED'));
  await expect(sending).rejects.toMatchObject({ asked: 1 });
  expect(slept).not.toHaveBeenCalled();
});

it('is not waited for where the receiver says nothing, or is not to be asked again', async () => {
  expect(await send({ status: 500 })).toBe(2);
  await expect(send({ status: 404, retryAfter: 1 })).rejects.toMatchObject({ asked: 1 });
  expect(slept).not.toHaveBeenCalled();
});
