import { type Occurrence, replaceInPieces, type TextStream } from '../text/replace-in-pieces';
import { openForms } from './open-forms';

export const MARK = '[redacted]';

/** A line break or another character as JSON writes it: its letter is no part of the word that follows. */
const ESCAPE = String.raw`(?<=\\[bfnrt])`;
/** Where a word begins. */
const START = String.raw`(?:\b|${ESCAPE})`;
const TOKEN = String.raw`(?:[A-Za-z0-9._~+/-]|\\/)`;

/**
 * What is a secret by its form alone: keys of well-known services, tokens of GitHub, Slack and Telegram, JSON Web Tokens,
 * private keys, credentials in a URL, and what follows "Bearer" or "Basic". Only forms that ordinary text does not have.
 * A form added here needs a watch in `open-forms.ts`, for texts that arrive in pieces.
 */
const SECRET_FORMS = new RegExp(
  [
    String.raw`${START}sk-[A-Za-z0-9_-]{16,}`,
    String.raw`${START}[rs]k_(?:live|test)_[A-Za-z0-9]{16,}`,
    String.raw`${START}(?:AKIA|ASIA)[A-Z0-9]{16}\b`,
    String.raw`${START}AIza[A-Za-z0-9_-]{35}`,
    String.raw`(?:(?<![A-Za-z0-9])|${ESCAPE})gh[pousr]_[A-Za-z0-9]{30,}`,
    String.raw`${START}github_pat_[A-Za-z0-9_]{30,}`,
    String.raw`${START}xox[abposr]-[A-Za-z0-9-]{10,}`,
    String.raw`(?<!\d)\d{8,10}(?::|%3A)AA[A-Za-z0-9_-]{33}`,
    // Not within a longer run of the same characters, or a text of many beginnings would be read once for each.
    String.raw`(?:(?<![A-Za-z0-9_-])|${ESCAPE})eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`,
    String.raw`-----BEGIN [A-Z ]*PRIVATE KEY-----(?:(?:\s|\\[nr])*(?:Proc-Type|DEK-Info):(?:[A-Za-z0-9, ]|-(?!-))*)*[A-Za-z0-9+/=\s\\]*(?:-----END [A-Z ]*PRIVATE KEY-----)?`,
    // What follows the colon may be a port and a text behind it.
    String.raw`(?<=\b[a-z][a-z0-9+.-]{1,20}:\\?\/\\?\/[^\s/:@]{0,100}:)(?!\d{1,5}[?#,;)\]'])[^\s/@"<>]{3,200}(?=@)`,
    // The same within an address that is quoted.
    String.raw`(?<=%3A%2F%2F[^\s&%]{0,100}%3A)[^\s&%]{3,200}(?=%40)`,
    // Words have no digits, and no end of base64.
    String.raw`(?<=(?:\b|\\[bfnrt])(?:[Bb]earer|BEARER|[Bb]asic|BASIC) )(?=${TOKEN}*[0-9]|${TOKEN}+=|[A-Za-z]{0,40}[a-z][A-Z]+[a-z]+[A-Z])${TOKEN}{16,}=*`,
  ].join('|'),
  'g',
);

/** The text without what is a secret by its form. */
export function redactForms(text: string): string {
  return text.replace(SECRET_FORMS, MARK);
}

redactForms.stream = (): TextStream => replaceInPieces({ find: findForm, undecided: openForms(), replacement: MARK });

function findForm(text: string, from: number, before: number): Occurrence | undefined {
  SECRET_FORMS.lastIndex = from;
  const found = SECRET_FORMS.exec(text);
  return found === null || found.index >= before
    ? undefined
    : { start: found.index, end: found.index + found[0].length };
}
