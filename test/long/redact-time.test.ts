import { createRedactor, type Redact, redactBoth } from '../../runtime/util/redaction/redact';
import { redactForms } from '../../runtime/util/redaction/redact-forms';
import { createThinkingFilter } from '../../runtime/util/text/thinking-filter';

/** Five times what a step may hold the event loop. */
const MAX_MS = 250;
const LENGTH = 64 * 1024;
const filled = (unit: string, end = ''): string => unit.repeat(Math.ceil(LENGTH / unit.length)).slice(0, LENGTH) + end;

const AGAINST_IT: [string, ...string[]][] = [
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
];

it.each(AGAINST_IT)('takes no time for a text made against it: %s', (_form, ...texts) => {
  for (const text of texts) {
    const times = [1, 2, 3].map(() => {
      const startedAt = performance.now();
      redactForms(text);
      return performance.now() - startedAt;
    });
    expect(Math.min(...times)).toBeLessThan(MAX_MS);
  }
});

const ORDINARY = filled('The quick brown fox jumps over 42 lazy dogs, and rests. ');
const KNOWN = Array.from({ length: 40 }, (_, index) => filled(`${index}/Zq ${index * 7}+`).slice(0, 1500));

/** Five times what it may cost beside an ordinary text. */
const MOST_TIMES = 10;

function cpuOf(text: string, redact: Redact, size: number): number {
  const costs = [1, 2, 3].map(() => {
    const [shown, visible] = [redact.stream(), createThinkingFilter()];
    const before = process.cpuUsage();
    for (let at = 0; at < text.length; at += size) shown.push(visible.push(text.slice(at, at + size)));
    shown.push(visible.end());
    shown.end();
    const { user, system } = process.cpuUsage(before);
    return user + system;
  });
  return Math.min(...costs);
}

it.each([
  ...AGAINST_IT,
  ['known secrets', ORDINARY, filled(KNOWN.join('!')), KNOWN.map((secret) => secret.slice(0, -1)).join('!')],
  ['thinking', filled('<'), filled('<think'), `<think>${ORDINARY}`, `a<think>${ORDINARY}`, filled('</think>')],
  ['white space', `a${filled(' ')}`, filled('a\n\n')],
] as [string, ...string[]][])('takes little more in pieces than an ordinary text: %s', (_form, ...texts) => {
  const redact = redactBoth(createRedactor(KNOWN), redactForms);
  for (const text of texts) {
    expect(cpuOf(text, redact, 3)).toBeLessThan(MOST_TIMES * cpuOf(ORDINARY, redact, 3));
    expect(cpuOf(text.repeat(4), redact, Infinity) / 1000).toBeLessThan(MAX_MS);
  }
});
