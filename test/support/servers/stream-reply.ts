import type { ServerResponse } from 'node:http';

interface Call {
  readonly id: string;
  readonly type: string;
  readonly function: { readonly name: string; readonly arguments: string };
}

interface Completion {
  readonly choices?: readonly {
    readonly message: {
      readonly content?: unknown;
      readonly reasoning?: string;
      readonly refusal?: string;
      readonly tool_calls?: readonly Call[];
    };
    readonly finish_reason: string;
  }[];
  readonly usage?: object;
}

const pieces = (text: string): readonly string[] => text.match(/[\s\S]{1,5}/gu) ?? [];

/** A completion as the chunks in which OpenAI and OpenRouter stream it: the role, the pieces, the end, the usage. */
export function chunksOf(body: Completion): readonly object[] {
  const { choices = [], usage, ...rest } = body;
  const chunk = (delta: object, finish: string | null = null): object => ({
    ...rest,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  const [choice] = choices;
  if (choice === undefined) return [body];
  const { content, reasoning, refusal, tool_calls: calls = [], ...others } = choice.message;
  const texts = typeof content === 'string' ? pieces(content).map((text) => chunk({ content: text })) : [];
  return [
    chunk({ ...others, content: typeof content === 'string' ? '' : content }),
    ...pieces(reasoning ?? '').map((text) => chunk({ reasoning: text })),
    ...texts,
    ...pieces(refusal ?? '').map((text) => chunk({ refusal: text })),
    ...calls.flatMap(({ function: fn, ...call }, index) => [
      chunk({ tool_calls: [{ index, ...call, function: { name: fn.name, arguments: '' } }] }),
      ...pieces(fn.arguments).map((text) => chunk({ tool_calls: [{ index, function: { arguments: text } }] })),
    ]),
    chunk({}, choice.finish_reason),
    ...(usage === undefined ? [] : [{ ...rest, object: 'chat.completion.chunk', choices: [], usage }]),
  ];
}

/** The text of the stream, with a comment as OpenRouter sends it while it waits. */
export function streamText(body: object): string {
  const events = chunksOf(body as Completion).map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`);
  return `: OPENROUTER PROCESSING\n\n${events.join('')}data: [DONE]\n\n`;
}

/** Sends it in pieces of some bytes, which may cut a character in two; `until`: breaks off after so many bytes. */
export async function sendStream(
  response: ServerResponse,
  body: object,
  { size = 97, until = Infinity, delayMs = 0 } = {},
): Promise<void> {
  const bytes = Buffer.from(streamText(body));
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (let at = 0; at < Math.min(bytes.length, until); at += size) {
    response.write(bytes.subarray(at, Math.min(at + size, until)));
    await new Promise((resolve) => (delayMs > 0 ? setTimeout(resolve, delayMs) : setImmediate(resolve)));
  }
  if (until < bytes.length) response.destroy();
  else response.end();
}
