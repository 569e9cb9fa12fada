import { requestField, toRestRow } from '../../../runtime/admin/tools/rest-request';
import { readRestConfig } from '../../../runtime/tools/transports/rest-config';
import { parseExactly } from '../../../runtime/util/exact-integer';

const row = (given: object, config?: object) => toRestRow(requestField.parse(given), config as never);

describe('toRestRow', () => {
  it.each([
    ['https://api.example.com', { method: 'GET' }],
    ['https://api.example.com/', { method: 'GET', path: '/' }],
    ['https://api.example.com/orders/{number}', { method: 'GET', path: '/orders/{{number}}' }],
    ['https://api.example.com/orders/{{number}}', { method: 'GET', path: '/orders/{{number}}' }],
    ['https://api.example.com?q={words}&lang=en', { method: 'GET', query: { q: '{{words}}', lang: 'en' } }],
    ['https://api.example.com/a?q=a%26b', { method: 'GET', path: '/a', query: { q: 'a&b' } }],
  ])('splits %s into address, path and query', (url, transportConfig) => {
    expect(row({ url })).toEqual({ transport: 'rest', endpoint: 'https://api.example.com', transportConfig });
    expect(() => readRestConfig(transportConfig)).not.toThrow();
  });

  it('lays the request over the other settings of the transport', () => {
    const given = { method: 'PUT', url: 'http://a/b?x=1', query: { x: '2' }, body: { note: 'For {customer}' } };
    expect(row(given, { method: 'POST', result_path: 'data' }).transportConfig).toEqual({
      ...{ method: 'PUT', path: '/b', query: { x: '2' }, body: { note: 'For {{customer}}' }, result_path: 'data' },
    });
  });

  it('keeps what is no argument, and every digit of a number', () => {
    const body = parseExactly('{"id": 9007199254740993, "text": "{ a } {} {{b}} {c d}"}');
    const { transportConfig } = row({ url: 'http://a', body });
    expect(JSON.stringify(transportConfig.body)).toBe('{"id":9007199254740993,"text":"{ a } {} {{b}} {c d}"}');
  });
});

it.each(['', 'orders', 'ftp://a/', 'http://{host}/a', 'http://a/b#c', 'http://a/b c'])(
  'the URL "%s" is refused',
  (url) => {
    expect(requestField.safeParse({ url }).success).toBe(false);
  },
);
