import { redactForms } from '../../util/redaction/redact-forms';

const SECRET_NAME =
  /token(?!s)|secret|key(?!word)|passw|pwd|auth(?!ors?\b)|credential|cookie|session|signature|jwt|^(?:sig|pin|appid)$/i;
/** How a text begins that is nothing but a secret, also of a length that its service does not use. */
const SECRET_TEXT = /^\s*(?:(?:bearer|basic|token)\s+|sk-|gh[a-z]_|github_pat_|xox[a-z]-|AKIA|eyJ)\S{12,}\s*$/i;
const LONG_WORD = /[\w-]{16,}/g;
const ARGUMENT = /\{\{[\w-]+\}\}/g;

/** True for the name of what is usually kept secret. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

/** True for a text that is a secret by its form, or could be one. What the model gives is none. */
export function holdsSecret(template: string): boolean {
  const text = template.replace(ARGUMENT, '');
  if (SECRET_TEXT.test(text) || redactForms(text) !== text) return true;
  return Array.from(text.matchAll(LONG_WORD), ([word]) => word).some(isRandom);
}

/** Letters and digits as only chance mixes them; names with a year or a version in them are not meant. */
function isRandom(word: string): boolean {
  const changes = word.match(/[a-z](?=\d)/gi) ?? [];
  return (
    changes.length >= 3 ||
    word.split(/[-_]/).some((part) => part.length >= 16 && /\d/.test(part) && /[a-z]/i.test(part))
  );
}
