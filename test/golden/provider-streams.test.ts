import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';

import { normalizeReply } from '../../runtime/models/openai/normalize-reply';
import { readReply } from '../../runtime/models/openai/read-reply';
import { fc } from '../support/values/properties';

/** A stream as its provider documents or sends it, without some of the chunks in its middle, and what it holds. */
interface Recorded {
  readonly provider: string;
  readonly source: string;
  readonly stream: readonly string[];
  readonly expect: {
    readonly text: string;
    readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
    /** Empty where the record ends before it. */
    readonly finish: string;
    readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number } | null;
  };
}

const folder = join(__dirname, 'provider-streams');
const recorded = readdirSync(folder).map((file): [string, Recorded] => [
  file.replace('.json', ''),
  JSON.parse(readFileSync(join(folder, file), 'utf8')) as Recorded,
]);

/** The reply, and what was shown of it, when the bytes come in these pieces. */
async function read(pieces: readonly Buffer[]): Promise<{ text: string; shown: string }> {
  let shown = '';
  const call = {
    attempts: { sent: 1, answered: 0 },
    modelId: 'asked/model',
    onDelta: ({ kind, text }: { kind: string; text: string }) => {
      if (kind === 'text') shown += text;
    },
  };
  const { text } = await readReply({ status: 200, encoding: undefined, body: Readable.from(pieces) }, call);
  return { text, shown };
}

const bytesOf = ({ stream, expect: { finish } }: Recorded): Buffer =>
  // A record that ends early is ended here.
  Buffer.from([...stream, ...(finish === '' ? ['data: [DONE]'] : [])].map((event) => `${event}\n\n`).join(''));

it('there are streams of at least fifteen providers and servers, each with its source', () => {
  expect(new Set(recorded.map(([, { provider }]) => provider)).size).toBeGreaterThanOrEqual(15);
  for (const [, { source }] of recorded) expect(source).toMatch(/^https:/);
});

it.each(recorded)('the stream of %s is the reply that it holds', async (_name, given) => {
  const { text, calls, usage } = given.expect;
  const reply = await read([bytesOf(given)]);
  const body = JSON.parse(reply.text) as { readonly usage?: object };
  const { message } = normalizeReply(body);
  expect(reply.shown).toBe(text);
  expect(message.content ?? '').toBe(text);
  expect((message.tool_calls ?? []).map(({ id, function: fn }) => ({ id, ...fn }))).toEqual(calls);
  expect(body.usage ?? null).toEqual(usage === null ? null : expect.objectContaining(usage));
});

it.each(recorded)('the stream of %s is the same reply under every split of its bytes in two', async (_name, given) => {
  const bytes = bytesOf(given);
  const whole = await read([bytes]);
  for (let at = 1; at < bytes.length; at++) {
    expect(await read([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(whole);
  }
});

it('every stream is the same reply under random splits', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...recorded.map(([, given]) => given)),
      fc.array(fc.integer({ min: 1, max: 80 }), { minLength: 1, maxLength: 50 }),
      async (given, sizes) => {
        const bytes = bytesOf(given);
        const pieces: Buffer[] = [];
        for (let at = 0; at < bytes.length; at += pieces.at(-1)?.length ?? 1) {
          pieces.push(bytes.subarray(at, at + (sizes[pieces.length % sizes.length] ?? 1)));
        }
        expect(await read(pieces)).toEqual(await read([bytes]));
      },
    ),
    { numRuns: 300 },
  );
});
