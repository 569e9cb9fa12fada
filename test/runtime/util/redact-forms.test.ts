import { redactForms } from '../../../runtime/util/redact';

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

const LENGTH = 64 * 1024;
const filled = (unit: string, end = ''): string => unit.repeat(Math.ceil(LENGTH / unit.length)).slice(0, LENGTH) + end;

it.each([
  ['sk-', filled('sk-'), filled('sk-abcdefghijklmn ')],
  ['live keys', filled('sk_live_'), filled('sk_live_abcdefghijklmno ')],
  ['AKIA', filled('AKIA'), filled('AKIAAAAAAAAAAAAAAAAAA ')],
  ['AIza', filled('AIza'), filled('AIza-AIza_')],
  ['gh', filled('ghp_'), filled('ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaaa ')],
  ['github_pat_', filled('github_pat_'), filled('github_pat_-')],
  ['xox', filled('xoxb-'), filled('xoxb-aaaaaaaaa ')],
  ['Telegram', filled('12345678:AA'), filled('1234567890')],
  ['web tokens', filled('eyJ-'), filled('-eyJaaaaaaaa.eyJ')],
  ['web tokens, joined', filled('eyJaaaaaaaa.'), `eyJaaaaaaaa.${filled('eyJaaaaaaaa-')}`],
  ['web tokens in JSON', filled(String.raw`\neyJ`), filled(String.raw`\teyJaaaaaaaaa`)],
  ['private keys', filled('-----BEGIN '), filled('-----BEGIN PRIVATE KEY', '!')],
  ['private keys, broken', `-----BEGIN ${filled('PRIVATE KEY ')}`, `-----BEGIN ${filled('A ')}`],
  [
    'private keys, headers',
    `-----BEGIN PRIVATE KEY-----${filled('\n')}`,
    `-----BEGIN PRIVATE KEY-----${filled(String.raw`\n\r`, ':')}`,
  ],
  [
    'private keys, many headers',
    `-----BEGIN PRIVATE KEY-----${filled('DEK-Info:')}`,
    `-----BEGIN PRIVATE KEY-----${filled('\nDEK-Info: A', '!')}`,
  ],
  ['passwords', filled('ab://x:'), filled('ab://x:aaaa', '@')],
  ['passwords, long', filled(`ab://${'x'.repeat(99)}:`), filled(`ab://x:${'y'.repeat(200)}`)],
  ['passwords, colons', filled(':'), filled('a:')],
  ['passwords, schemes', filled('abcdefghijklmnopqrstu'), filled('a.+-')],
  ['Bearer', filled('Bearer '), filled('Bearer aaaaaaaaaaaaaaa ')],
  ['Bearer, long', `Bearer ${filled('a')}!`, `Basic ${filled('a/')}!`],
  ['Bearer, letters', filled('Bearer aAaAaAaAaA '), filled(`Bearer ${'a'.repeat(41)} `)],
  ['Bearer, escapes', `Bearer ${filled(String.raw`\/`)}`, `Bearer ${filled('\\')}`],
])('takes no time for a text made against it: %s', (_form, ...texts) => {
  for (const text of texts) {
    const times = [1, 2, 3].map(() => {
      const startedAt = performance.now();
      redactForms(text);
      return performance.now() - startedAt;
    });
    expect(Math.min(...times)).toBeLessThan(50);
  }
});
