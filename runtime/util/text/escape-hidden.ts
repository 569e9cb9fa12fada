/** Control characters but line breaks and tabs, line ends of other alphabets, and what turns the direction of text. */
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** The text with `\u001b` and the like in place of what a terminal would obey instead of showing it. In JSON it means the same. */
export function escapeHidden(text: string): string {
  return text.replace(HIDDEN, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
