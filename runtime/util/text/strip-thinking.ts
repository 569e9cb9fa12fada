const OPENING = /<think(?:ing)?>/gi;
const ENDING = /<\/think(?:ing)?>/gi;

/**
 * The text without what a reasoning model says to itself. Some chat templates open the thinking in the prompt: then all
 * before the last end goes. Thinking that was cut off leaves nothing, where it begins the text; within a text the mark is a
 * word like others.
 */
export function stripThinking(text: string): string {
  if (!text.includes('<')) return text.trim();
  const rest = withoutClosed(text);
  ENDING.lastIndex = 0;
  const last = [...rest.matchAll(ENDING)].at(-1);
  const answer = (last === undefined ? rest : rest.slice(last.index + last[0].length)).trim();
  return /^<think(?:ing)?>/i.test(answer) ? '' : answer;
}

/** Goes through the text once: one of many beginnings without an end must not be read once for each. */
function withoutClosed(text: string): string {
  const parts: string[] = [];
  let from = 0;
  for (;;) {
    const opening = firstFrom(OPENING, text, from);
    const ending = opening && firstFrom(ENDING, text, opening.index);
    if (opening === undefined || ending === undefined) break;
    parts.push(text.slice(from, opening.index));
    from = ending.index + ending[0].length;
  }
  return parts.join('') + text.slice(from);
}

function firstFrom(mark: RegExp, text: string, from: number): RegExpExecArray | undefined {
  mark.lastIndex = from;
  return mark.exec(text) ?? undefined;
}
