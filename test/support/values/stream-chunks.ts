/** Events of a chat completion stream, as text. */

export const data = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;

export const delta = (fields: object, finish: string | null = null): string =>
  data({ choices: [{ index: 0, delta: fields, finish_reason: finish }] });

type Piece = [id: string | undefined, name: string | undefined, args: unknown, index?: unknown];

/** A tool call, or a piece of one. */
export const call = (...[id, name, args, index]: Piece): object => ({
  ...(index === undefined ? {} : { index }),
  ...(id === undefined ? {} : { id }),
  type: 'function',
  function: { ...(name === undefined ? {} : { name }), arguments: args },
});

/** Each piece in a chunk of its own. */
export const calls = (...pieces: readonly object[]): string =>
  pieces.map((piece) => delta({ tool_calls: [piece] })).join('');

export const USAGE = data({ choices: [], usage: { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 } });
export const DONE = 'data: [DONE]\n\n';
