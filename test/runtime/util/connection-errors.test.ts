import { wasNeverConnected } from '../../../runtime/util/connection-errors';

const failed = (fields: object): Error => Object.assign(new Error('failed'), fields);
const refused = failed({ code: 'ECONNREFUSED', syscall: 'connect' });

it.each([
  [failed({ code: 'ENOTFOUND', syscall: 'getaddrinfo' })],
  [failed({ code: 'ETIMEDOUT', syscall: 'connect' })],
  [failed({ code: 'UND_ERR_CONNECT_TIMEOUT' })],
  [failed({ code: 'EHOSTUNREACH' })],
  [failed({ code: 'CERT_HAS_EXPIRED' })],
  [failed({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })],
  [new AggregateError([refused, refused])],
  [Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' })],
])('nothing has left: %j', (error) => {
  expect(wasNeverConnected(error)).toBe(true);
});

it.each([
  [failed({ code: 'ECONNRESET', syscall: 'read' })],
  [failed({ code: 'EHOSTUNREACH', syscall: 'write' })],
  [failed({ code: 'UND_ERR_SOCKET' })],
  [failed({ code: 'ETIMEDOUT' })],
  [failed({ code: -32_000 })],
  [failed({})],
  [undefined],
  [Object.assign(new AggregateError([refused, failed({ code: 'ECONNRESET' })]), { code: 'ECONNREFUSED' })],
])('something may have: %j', (error) => {
  expect(wasNeverConnected(error)).toBe(false);
});
