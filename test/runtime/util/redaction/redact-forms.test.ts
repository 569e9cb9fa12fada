import { redactForms } from '../../../../runtime/util/redaction/redact-forms';

const KEY = 'sk-proj-Zm9vYmFyYmF6cXV4MTIzNDU2';
const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.c2lnbmF0dXJl';
const GITHUB = `ghp_${'a1B2c3D4e5'.repeat(4)}`;

it.each([
  'Basic understanding-of-things is all you need.',
  'Your basic responsibilities are listed below; bearer authentication/authorization comes later.',
  'basic JavaScript/TypeScript-knowledge and Basic internationalization',
  'See http://localhost:8080?mail=me@example.org, or http://a:8080,admin@example.org.',
  '{"url":"http://host:8080","mail":"a@example.org"}',
  'https://example.org:8443/path/@user and ratio 10:20@30, at 19:30@home',
  'Price 1234567890:99, id 3f2b8c1e-5d4a-4c6b-9e7f-0a1b2c3d4e5f',
  'commit 9dcce87ab53b1c0fcda6c63026a89d420926aabbccddee00112233445566778899',
  'risk-adjusted-returns-of-a-portfolio, task-management-and-more',
  'a@b.example, Ann <ann@example.org>, git@github.com:owner/repository.git',
])('leaves an ordinary answer as it is: %s', (text) => expect(redactForms(text)).toBe(text));

it.each([
  ['a key after a line break in JSON', String.raw`{"text":"first\n${KEY}"}`, KEY],
  ['a token after a tab in JSON', String.raw`a\t${GITHUB}`, GITHUB],
  ['a web token after a line break in JSON', String.raw`a\n${JWT}`, JWT],
  ['Bearer after a line break in JSON', String.raw`a\nBearer abcdefgh1234567890`, 'abcdefgh1234567890'],
  ['a token whose slashes are escaped', String.raw`Bearer abc\/def\/ghi\/jkl1\/secret`, 'secret'],
  ['a password in a URL whose slashes are escaped', String.raw`"postgres:\/\/ann:hunter22@db\/x"`, 'hunter22'],
  ['base64 of letters only', 'Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==', 'QWxhZGRpbjpvcGVu'],
  ['letters that are no word', 'Bearer aBcDeFgHiJkLmNoPqRsT', 'aBcDeFgHiJkLmNoPqRsT'],
  [
    'a private key that is encrypted',
    '-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00FF\n\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----',
    'MIIEpAIBAAKCAQEA',
  ],
  [
    'a private key in JSON',
    String.raw`-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKC\/AQEA\n-----END PRIVATE KEY-----`,
    'AQEA',
  ],
])('blanks %s', (_what, text, secret) => expect(redactForms(text)).not.toContain(secret));
