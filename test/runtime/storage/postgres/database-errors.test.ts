import { judgeFailure } from '../../../../runtime/queue/jobs/retry-policy';
import { toDatabaseError } from '../../../../runtime/storage/postgres/database-errors';
import { createRedactor } from '../../../../runtime/util/redaction/redact';

const failureWith = (code: string) =>
  toDatabaseError(Object.assign(new Error('no'), { code }), { user: 'u', redact: createRedactor([]) });

const verdictOn = (code: string) =>
  judgeFailure({ error: failureWith(code), attempt: 1, maxAttempts: 1, deferrals: 0, ageMs: 0 }).kind;

it.each([
  ['08P01', 'a pooler that refuses'],
  ['08006', 'a connection that broke'],
  ['25006', 'a read-only standby'],
  ['25P03', 'a transaction that was idle for too long'],
  ['25P04', 'a transaction that took too long'],
  ['40001', 'a serialization failure'],
  ['40P01', 'a deadlock'],
  ['53100', 'a full disk'],
  ['53200', 'memory that is used up'],
  ['53300', 'too many connections'],
  ['55P03', 'a lock that is not to be had'],
  ['57014', 'a statement over its time'],
  ['57P01', 'a shutdown'],
  ['57P03', 'a server that starts'],
  ['58030', 'an input or output error'],
  ['XX000', 'the trouble of a server that starts'],
])('%s, %s, may pass: a task waits for it, and that is no try', (code) => {
  expect(failureWith(code)).toMatchObject({ retryable: true, scope: 'installation' });
  expect(verdictOn(code)).toBe('defer');
});

it.each([
  ['42P01', 'a table'],
  ['42703', 'a column'],
  ['42883', 'a function'],
])('%s, %s that is not there, is a schema that waits for its migration', (code) => {
  expect(failureWith(code)).toMatchObject({ code: 'DB_SCHEMA_MISSING', scope: 'installation' });
});

it.each(['23502', '23503', '23505', '23514'])('%s is a row that a constraint refuses', (code) => {
  expect(failureWith(code)).toMatchObject({ code: 'DB_ROW_REFUSED', retryable: false });
  expect(verdictOn(code)).toBe('die');
});

it.each(['22003', '25001', '42601', '54000', 'P0001'])('%s is a mistake of ours, and waits for nobody', (code) => {
  expect(failureWith(code)).toMatchObject({ code: 'DB_QUERY_FAILED', retryable: false });
  expect(verdictOn(code)).toBe('die');
});
