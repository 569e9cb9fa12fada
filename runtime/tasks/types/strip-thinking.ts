/** What a reasoning model says to itself; without an end it goes on to the end of the text. */
const THOUGHTS = /<think(?:ing)?>[\s\S]*?(?:<\/think(?:ing)?>|$)/gi;
const END = /<\/think(?:ing)?>/gi;

/** The text without the model's thoughts. Some servers leave out the opening mark: then all before the last end goes. */
export function stripThinking(text: string): string {
  const rest = text.replace(THOUGHTS, '');
  const [lastEnd] = [...rest.matchAll(END)].slice(-1);
  return (lastEnd === undefined ? rest : rest.slice(lastEnd.index + lastEnd[0].length)).trim();
}
