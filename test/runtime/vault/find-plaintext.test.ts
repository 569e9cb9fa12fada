import {
  plainInAuth,
  plainInCustomConfig,
  plainText,
  unwrapJson,
  wrapJson,
} from '../../../runtime/vault/find-plaintext';

it('finds the header of a tool, unless it names a secret already', () => {
  expect(plainText('Bearer abc')).toEqual([{ path: [], value: 'Bearer abc' }]);
  for (const text of ['', ' ', 'vault:CRM', 'Bearer vault:CRM']) expect(plainText(text)).toEqual([]);
});

it('finds the header and the sensitive headers of a tenant, and leaves the others', () => {
  const headers = {
    Authorization: 'Bearer a',
    'X-Api-Key': 'b',
    'api-key': 'c',
    Cookie: 'd=e',
    'X-Shop-Token': 'f',
    'client-SECRET': 'g',
    'x-password': 'h',
    accept: 'text/html',
    'x-team': 'one',
    'x-keyed': 'vault:there',
  };
  const found = plainInCustomConfig({ auth_header: 'Bearer z', headers, description: 'Bearer y' });
  expect(found.map(({ path }) => path.join('.'))).toEqual([
    'auth_header',
    'headers.Authorization',
    'headers.X-Api-Key',
    'headers.api-key',
    'headers.Cookie',
    'headers.X-Shop-Token',
    'headers.client-SECRET',
    'headers.x-password',
  ]);
});

it('finds every secret in the auth of a server', () => {
  const auth = {
    kind: 'oauth',
    client_id: 'public',
    token: 'a',
    client_secret: 'b',
    private_key: 'c',
    assertion: 'd',
    headers: { 'x-team': 'e' },
    idp: { token_url: 'https://x', client_id: 'public', id_token: 'f' },
  };
  expect(plainInAuth(auth).map(({ value }) => value)).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
});

it('is not led astray by settings of the wrong type', () => {
  expect(plainInCustomConfig({ auth_header: null, headers: 'x' })).toEqual([]);
  expect(plainInAuth({ token: 1, headers: ['x'], idp: null })).toEqual([]);
});

it.each([0, 1, 2])('reads an object in %i texts, and puts it back as it was', (wraps) => {
  const text = wrapJson('{"a": 12345678901234567890}', wraps);
  const json = '{"a": 12345678901234567890}';
  expect(unwrapJson(text)).toMatchObject({ json, wraps });
  expect(JSON.stringify(unwrapJson(text)?.value)).toBe(json.replace(' ', ''));
});

it.each(['', '[]', 'null', '3', '{"a":', '"text"'])('%j holds no object', (text) => {
  expect(unwrapJson(text)).toBeUndefined();
});
