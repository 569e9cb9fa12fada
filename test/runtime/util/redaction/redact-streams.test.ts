import { createRedactor, type Redact, redactBoth } from '../../../../runtime/util/redaction/redact';
import { redactForms } from '../../../../runtime/util/redaction/redact-forms';
import { stripThinking } from '../../../../runtime/util/text/strip-thinking';
import { createThinkingFilter } from '../../../../runtime/util/text/thinking-filter';
import { fc } from '../../../support/values/properties';

const RUNS = Number(process.env.PROPERTY_RUNS ?? 500);

const LETTERS = Array.from('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789');
const letters = (minLength: number, maxLength: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...LETTERS), minLength, maxLength });
const joined = (...parts: readonly (string | fc.Arbitrary<string>)[]): fc.Arbitrary<string> =>
  fc.tuple(...parts.map((part) => (typeof part === 'string' ? fc.constant(part) : part))).map((all) => all.join(''));
const oneOf = (...values: readonly string[]): fc.Arbitrary<string> => fc.constantFrom(...values);

const key = (end: string): fc.Arbitrary<string> =>
  joined(
    '-----BEGIN ',
    oneOf('', 'RSA ', 'EC ', 'x'),
    'PRIVATE KEY-----',
    oneOf('', '\n', String.raw`\n`),
    oneOf('', 'Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00FF\n\n', 'DEK-Info: A--B'),
    fc.string({ unit: fc.constantFrom(...LETTERS, '+', '/', '\n', ' ', '='), maxLength: 300 }),
    oneOf('', '-', '--', '-----'),
    end,
  );

/** What has the form of a secret, whole. */
const SECRETS = fc.oneof(
  joined('sk-', letters(16, 40)),
  joined(oneOf('sk_live_', 'rk_test_'), letters(16, 30)),
  joined(
    oneOf('AKIA', 'ASIA'),
    fc.string({ unit: fc.constantFrom('A', 'B', 'C', '1', '2'), minLength: 16, maxLength: 16 }),
  ),
  joined('AIza', letters(35, 35)),
  joined(oneOf('ghp_', 'gho_'), letters(30, 40)),
  joined('github_pat_', letters(30, 40)),
  joined('xoxb-', letters(10, 30)),
  joined(oneOf('12345678', '1234567890'), oneOf(':', '%3A'), 'AA', letters(33, 33)),
  joined('eyJ', letters(8, 400), '.eyJ', letters(8, 3000), '.', letters(0, 40)),
  joined(oneOf('Bearer ', 'bearer ', 'BASIC ', 'Basic '), letters(16, 3000), '1', oneOf('', '=', '==')),
  key('-----END PRIVATE KEY-----'),
  key('-----END RSA PRIVATE KEY-----'),
  key(''),
  joined(oneOf('postgres://', String.raw`redis:\/\/`), letters(0, 90), ':', letters(3, 180), '@host'),
  joined('https%3A%2F%2F', letters(0, 90), '%3A', letters(3, 180), '%40host'),
);

/** Pieces of their forms, which another piece may complete, and what stands between them. */
const PARTS = fc.oneof(
  oneOf(...'sk-|sk_live_|AKIA|AIza|ghp_|github_pat_|xoxb-|eyJ|.eyJ|.|12345678|:|%3A|AA|%3A%2F%2F|%40|%|&'.split('|')),
  oneOf('-----BEGIN ', '-----END ', 'PRIVATE KEY', '-----', '-', '--', 'Proc-Type:', 'DEK-Info: A', 'A', 'BEGIN '),
  oneOf(
    'Bearer ',
    'Basic ',
    'Bearer',
    ' ',
    'a1',
    '=',
    '://',
    String.raw`:\/\/`,
    '/',
    '@',
    '"',
    '<',
    ',',
    '8080',
    '8080?',
  ),
  oneOf('\n', '\t', '\\', String.raw`\n`, String.raw`\neyJ`, 'Größe', '漢字', '😀', '{"a":"', 'Price 42, or so.'),
  letters(1, 60),
);

const KNOWN = fc.array(
  fc.oneof(
    letters(6, 60),
    letters(200, 1500),
    fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 6, maxLength: 20 }),
  ),
  { maxLength: 6 },
);

/** A text of secrets, known ones and parts of them too, and where it is cut. */
const CASES = KNOWN.chain((known) => {
  const ofKnown = fc.constantFrom('', ...known);
  const cut = fc
    .tuple(ofKnown, fc.nat(1500), fc.nat(1500))
    .map(([text, from, length]) => text.slice(from, from + length));
  return fc.record({
    known: fc.constant(known),
    text: fc
      .array(
        fc.oneof(
          SECRETS,
          PARTS,
          PARTS,
          ofKnown,
          cut,
          ofKnown.map((text) => text.slice(0, -1)),
        ),
        { maxLength: 12 },
      )
      .map((parts) => parts.join('')),
    sizes: fc.array(fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 400 })), {
      minLength: 1,
      maxLength: 20,
    }),
  });
});

function piecesOf(text: string, sizes: readonly number[]): readonly string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; at += pieces.at(-1)?.length ?? 1) {
    pieces.push(text.slice(at, at + (sizes[pieces.length % sizes.length] ?? 1)));
  }
  return pieces;
}

function throughStream({ stream }: Pick<Redact, 'stream'>, pieces: readonly string[]): string {
  const { push, end } = stream();
  return pieces.map(push).join('') + end();
}

it('redacts a text in pieces as it redacts the whole', () => {
  fc.assert(
    fc.property(CASES, ({ known, text, sizes }) => {
      const redact = redactBoth(createRedactor(known), redactForms);
      expect(throughStream(redact, piecesOf(text, sizes))).toBe(redact(text));
    }),
    { numRuns: RUNS },
  );
});

it('never tells more of a text than what stays the same whatever follows', () => {
  fc.assert(
    fc.property(CASES, ({ known, text, sizes }) => {
      const redact = redactBoth(createRedactor(known), redactForms);
      const { push } = redact.stream();
      let told = '';
      for (const piece of piecesOf(text, sizes)) {
        told += push(piece);
        expect(redact(text).startsWith(told)).toBe(true);
      }
    }),
    { numRuns: RUNS },
  );
});

it('leaves out thinking from a text in pieces as from the whole', () => {
  const parts = fc.constantFrom('<think>', '</think>', '<THINKING>', '</thinking>', '<', '<th', 'a', ' ', '\n', '<b>');
  const texts = fc.array(parts, { maxLength: 12 }).map((all) => all.join(''));
  fc.assert(
    fc.property(texts, fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 }), (text, sizes) => {
      // Where only its end is in the text, what came before has been shown.
      const withoutThoughts = text.replace(/<think(?:ing)?>[^]*?<\/think(?:ing)?>/gi, '');
      fc.pre(!/<\/think(?:ing)?>/i.test(withoutThoughts));
      expect(throughStream({ stream: createThinkingFilter }, piecesOf(text, sizes))).toBe(stripThinking(text));
    }),
    { numRuns: RUNS },
  );
});

it.each([
  ['a word', 'Hello', 'Hello'],
  ['words that begin like keys', 'Risk reaches 42%, skeleton, gather, x', 'Risk reaches 42%, skeleton, gather, '],
  ['an address up to its port', 'See https://example.org', 'See https://example.org'],
  ['a language without blanks', '漢字かな交じり文', '漢字かな交じり文'],
  ['JSON', '{"answer":"yes","items":[1,2,3]}', '{"answer":"yes","items":[1,2,3]}'],
])('holds nothing back of %s', (_what, text, told) => {
  expect(redactForms.stream().push(text)).toBe(told);
});
