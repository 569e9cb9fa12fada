import { readRestConfig } from '../../../../runtime/tools/transports/rest-config';
import { buildRestRequest } from '../../../../runtime/tools/transports/rest-request';
import type { JsonObject } from '../../../../runtime/util/json';
import { fc } from '../../../support/values/properties';

const BASE = 'http://api.test/v1';
const build = (config: JsonObject, input: JsonObject = {}, endpoint = BASE) =>
  buildRestRequest({ name: 'crm', endpoint, config: readRestConfig(config) }, input);
const urlOf = (...given: Parameters<typeof build>) => build(...given).url;

describe('the URL', () => {
  it.each([
    [{}, {}, BASE],
    [{ path: '/users' }, {}, 'http://api.test/v1/users'],
    [{ path: 'users/' }, {}, 'http://api.test/v1/users/'],
    [{ path: '/users/{{id}}/notes' }, { id: 7 }, 'http://api.test/v1/users/7/notes'],
    [{ path: '/users/{{id}}' }, { id: 'a b/c?d#e%f' }, 'http://api.test/v1/users/a%20b%2Fc%3Fd%23e%25f'],
    [
      { path: '/x', query: { q: '{{q}}', n: 'x{{n}}', k: 'fixed' } },
      { q: 'a&b=c' },
      'http://api.test/v1/x?q=a%26b%3Dc&k=fixed',
    ],
  ])('of %j with %j', (config, input, url) => expect(urlOf(config, input)).toBe(url));

  it('keeps the query of the endpoint', () => {
    expect(urlOf({ path: '/x', query: { b: '2' } }, {}, 'http://api.test/v1/?a=1')).toBe(
      'http://api.test/v1/x?a=1&b=2',
    );
  });

  it.each([['..'], ['.'], ['../admin'], ['a/../../b'], ['%2e%2e'], ['..%2fadmin'], ['..\\admin'], [''], [null]])(
    'does not leave its place for the argument %j',
    (id) => {
      expect(() => build({ path: '/users/{{id}}' }, { id })).toThrow('"crm" are not valid: id');
    },
  );

  it('does not leave its place with pieces that are harmless alone', () => {
    expect(() => build({ path: '/users/.{{a}}' }, { a: '.' })).toThrow('not valid');
    expect(() => build({ path: '/users/{{a}}{{b}}' }, { a: '%2', b: 'e' })).not.toThrow();
  });

  it('stays below its base, whatever a model writes', () => {
    const hostile = fc.oneof(
      fc.string(),
      fc.constantFrom('//evil.test', '@evil.test', 'http://evil.test', '\\\\evil.test', '?x', '#x', ';x'),
    );
    fc.assert(
      fc.property(hostile, (id) => {
        let url: URL;
        try {
          url = new URL(urlOf({ path: '/users/{{id}}' }, { id }));
        } catch (error) {
          expect(error).toMatchObject({ code: 'TOOL_INVALID_ARGS' });
          return;
        }
        expect(url.origin).toBe('http://api.test');
        expect(url.pathname).toMatch(/^\/v1\/users\/[^/]+$/);
        expect(url.search + url.hash).toBe('');
      }),
    );
  });

  it('does not tell the value of an argument that it refuses', () => {
    expect(() => build({ path: '/x/{{id}}' }, { id: '../CANARY' })).not.toThrow('CANARY');
  });
});

describe('the body', () => {
  it('holds all arguments without a template, renamed', () => {
    const config = { rename: { phone: 'to' } };
    const { method, body } = build(config, { phone: '1', text: 'Hi', toString: 1 });
    expect({ method, body }).toEqual({ method: 'POST', body: { to: '1', text: 'Hi', toString: 1 } });
  });

  it('does not repeat what path and query took', () => {
    const config = { path: '/{{id}}', query: { q: '{{q}}' } };
    expect(build(config, { id: 1, q: 2, text: 'Hi' }).body).toEqual({ text: 'Hi' });
  });

  it('refuses two arguments for one field', () => {
    expect(() => build({ rename: { phone: 'to' } }, { phone: '1', to: '2' })).toThrow('field to');
  });

  it('is what its template says', () => {
    const body = { token: 'fixed', to: '{{phone}}', text: 'Dear {{name}}', reply: '{{reply}}' };
    expect(build({ body }, { phone: 1, name: 'Ann', extra: true }).body).toEqual({
      token: 'fixed',
      to: 1,
      text: 'Dear Ann',
    });
  });

  it.each(['GET', 'delete'])('of %s goes into the query', (method) => {
    const { url, body } = build({ method, rename: { a: 'b' } }, { a: 1, c: ['x'], d: null });
    expect({ url, body }).toEqual({ url: `${BASE}?b=1&c=%5B%22x%22%5D`, body: undefined });
  });

  it('of DELETE goes as a body when there is a template', () => {
    expect(build({ method: 'DELETE', body: { id: '{{id}}' } }, { id: 1 })).toMatchObject({
      url: BASE,
      body: { id: 1 },
    });
  });

  it('takes what looks like a prototype as mere data', () => {
    const input = JSON.parse('{"__proto__":{"polluted":true}}') as JsonObject;
    expect(JSON.stringify(build({}, input).body)).toBe('{"__proto__":{"polluted":true}}');
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});

describe('a config that cannot be used', () => {
  it.each([
    [{ method: 'TRACE' }, 'transport_config.method'],
    [{ path: 'http://evil.test/' }, 'transport_config.path'],
    [{ path: '//evil.test/' }, 'transport_config.path'],
    [{ path: '/a/../b' }, 'transport_config.path'],
    [{ path: '/a/%2E%2e/b' }, 'transport_config.path'],
    [{ path: '/a?b=1' }, 'transport_config.path'],
    [{ path: '\\\\evil.test' }, 'transport_config.path'],
    [{ query: { a: 1 } }, 'transport_config.query.a'],
    [{ headers: { 'bad name': 'CANARY' } }, 'transport_config.headers.bad name'],
    [{ headers: { 'x-key': 'CANARY\nx' } }, 'transport_config.headers.x-key'],
    [{ headers: { 'x-key': 'CANARY{{a}}' } }, 'placeholder'],
    [{ headers: { Host: 'CANARY' } }, 'transport_config.headers.Host'],
    [{ succes: {} }, 'it has no key "succes" (did you mean "success"?)'],
    [{ success: { path: 'ok', equal: 1 } }, 'transport_config.success is not valid: it has no key "equal"'],
    [{ success: { equals: true } }, 'transport_config.success.path'],
    [{ body: JSON.parse('['.repeat(300) + ']'.repeat(300)) as JsonObject }, 'transport_config.body'],
  ])('%j is refused by name, without its value', (config, field) => {
    expect(() => readRestConfig(config as JsonObject)).toThrow(field);
    expect(() => readRestConfig(config as JsonObject)).not.toThrow('CANARY');
  });
});
