// What the model says.
export const WORD_MS = 20;

/** The space stands before a word, as tokens have it: each piece completes the word before it. */
export const WORDS = Array.from({ length: 100 }, (_, index) => `${index === 0 ? '' : ' '}word${index}`);
