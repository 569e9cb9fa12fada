/** Pairs of characters are hashed to this many numbers; a collision only costs a second look. */
const SLOTS = 4096;

/**
 * A function that replaces each occurrence of any of the words, of several that begin at the same place the longest. It looks at every
 * few characters only, however many words there are (the way of Wu and Manber): the shorter the shortest word, the more.
 * Words have two characters at least.
 */
export function replaceAny(words: readonly string[], replacement: string): (text: string) => string {
  const width = Math.min(...words.map(({ length }) => length));
  const last = width - 2;
  // How far to go on from a pair that is not the last one of any word's beginning.
  const steps = new Uint8Array(SLOTS).fill(Math.min(width - 1, 255));
  const endingIn = new Map<number, string[]>();
  for (const word of [...words].sort((a, b) => b.length - a.length)) {
    for (let at = 0; at <= last; at++) {
      const slot = slotOf(word, at);
      steps[slot] = Math.min(steps[slot] ?? 0, last - at);
    }
    const slot = slotOf(word, last);
    endingIn.set(slot, [...(endingIn.get(slot) ?? []), word]);
  }
  return (text) => {
    let [clean, done] = ['', 0];
    for (let at = last; at < text.length - 1;) {
      const slot = slotOf(text, at);
      const step = steps[slot] ?? 0;
      const start = at - last;
      const word = step > 0 ? undefined : endingIn.get(slot)?.find((one) => text.startsWith(one, start));
      if (word === undefined) {
        at += Math.max(step, 1);
        continue;
      }
      clean += text.slice(done, start) + replacement;
      done = start + word.length;
      at = done + last;
    }
    return done === 0 ? text : clean + text.slice(done);
  };
}

function slotOf(text: string, at: number): number {
  return (text.charCodeAt(at) * 61 + text.charCodeAt(at + 1)) % SLOTS;
}
