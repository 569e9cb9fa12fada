import { keptConfig, requestField, toRestRow } from '../../../runtime/admin/tools/rest-request';
import { readRestConfig } from '../../../runtime/tools/transports/rest-config';
import { parseExactly } from '../../../runtime/util/exact-integer';

const row = (given: object, others: object = {}) => toRestRow(requestField.parse(given), others);

describe('toRestRow', () => {
  it.each([
    ['https://api.example.com', { method: 'GET' }],
    ['https://api.example.com/', { method: 'GET', path: '/' }],
    ['https://api.example.com/orders/{number}', { method: 'GET', path: '/orders/{{number}}' }],
    ['https://api.example.com/orders/{{number}}', { method: 'GET', path: '/orders/{{number}}' }],
    ['https://api.example.com?q={words}&lang=en', { method: 'GET', query: { q: '{{words}}', lang: 'en' } }],
    ['https://api.example.com/a?q=%7Bx%7D', { method: 'GET', path: '/a', query: { q: '{x}' } }],
    ['https://api.example.com/a?q=a%26b', { method: 'GET', path: '/a', query: { q: 'a&b' } }],
  ])('splits %s into address, path and query', (url, transportConfig) => {
    expect(row({ url })).toEqual({ transport: 'rest', endpoint: 'https://api.example.com', transportConfig });
    expect(() => readRestConfig(transportConfig)).not.toThrow();
  });

  it('lays the request over the other settings of the transport', () => {
    const given = { method: 'PUT', url: 'http://a/b?x=1', query: { x: '2' }, body: { note: 'For {customer}' } };
    const config = { method: 'POST', result_path: 'data' };
    expect(row(given, { config }).transportConfig).toEqual({
      ...{ method: 'PUT', path: '/b', query: { x: '2' }, body: { note: 'For {{customer}}' }, result_path: 'data' },
    });
  });

  it('keeps what is no argument, and every digit of a number', () => {
    const body = parseExactly('{"id": 9007199254740993, "text": "{ a } {} {{b}} {c d}"}');
    const { transportConfig } = row({ url: 'http://a', body });
    expect(JSON.stringify(transportConfig.body)).toBe('{"id":9007199254740993,"text":"{ a } {} {{b}} {c d}"}');
  });
});

it('replaces only arguments of the tool in a body, which may have braces of its own', () => {
  const body = { query: 'query { orders(customer: "{customer}") {id} }' };
  const { transportConfig } = row({ url: 'http://a', body }, { names: ['customer'] });
  expect(transportConfig.body).toEqual({ query: 'query { orders(customer: "{{customer}}") {id} }' });
});

it('a request leaves the other settings of a tool, of another transport those that every tool may have', () => {
  const config = { method: 'POST', body: {}, headers: { a: 'b' }, repeatable: false };
  expect(keptConfig('rest', config)).toEqual({ headers: { a: 'b' }, repeatable: false });
  expect(keptConfig('hook', config)).toEqual({ repeatable: false });
  expect(keptConfig(null, {})).toEqual({});
});

it.each(['', 'orders', 'ftp://a/', 'http://{host}/a', 'http://a/b#c', 'http://a/b c', 'http://a?s=1&s=2'])(
  'the URL "%s" is refused',
  (url) => {
    expect(requestField.safeParse({ url }).success).toBe(false);
  },
);
