import { checkKeys, hasCallback, totalTasks } from '../../../../runtime/tasks/answers/check-callback';
import { withCode } from '../../../support/setup/matchers';

const rules = { prefixes: ['elo:results:', 'elo:counter:'], reserved: ['elo:results:queue'] };

it('takes keys below an allowed prefix', () => {
  expect(() => checkKeys({ result_key: 'elo:results:a', counter_key: 'elo:counter:ü b' }, rules)).not.toThrow();
  expect(() => checkKeys({}, rules)).not.toThrow();
});

it.each([
  'elo:results:',
  'elo:result',
  'xelo:results:a',
  ' elo:results:a',
  'elo:status:a',
  'elo:results:queue',
  'elo:results:a\u0000',
  'elo:results:\ud800',
  `elo:results:${'a'.repeat(501)}`,
])('refuses %j', (key) => {
  expect(() => checkKeys({ status_key: key }, rules)).toThrow(withCode('CALLBACK_KEY_FORBIDDEN'));
});

it('refuses its own keys even where every key is allowed', () => {
  const open = { prefixes: ['e'], reserved: [] };
  expect(() => checkKeys({ result_key: 'elo:agent:outbox' }, open)).toThrow(withCode('CALLBACK_KEY_FORBIDDEN'));
});

it.each([
  [undefined, 1],
  [null, 1],
  ['', 1],
  [0, 1],
  [3, 3],
  ['3', 3],
  [1.5, undefined],
  [-1, undefined],
  ['x', undefined],
  [[2], undefined],
])('total_tasks %j counts as %j', (given, total) => {
  expect(totalTasks({ meta: given === undefined ? {} : { total_tasks: given } })).toBe(total);
});

it('an empty callback is none', () => {
  expect([undefined, {}, { result_key: undefined }].map((callback) => hasCallback({ callback }))).toEqual([
    false,
    false,
    false,
  ]);
  expect(hasCallback({ callback: { notify_webhook: 'https://example.com' } })).toBe(true);
});
