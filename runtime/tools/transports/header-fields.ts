import { words } from '../../util/text/words';

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** What the connection itself decides on. */
const OF_CONNECTION: ReadonlySet<string> = new Set(
  words('connection content-length expect host keep-alive te trailer transfer-encoding upgrade'),
);

/** These would get round the rules on methods, or speak to a proxy in between. */
const FORBIDDEN = /^(proxy-.*|x-http-method(-override)?|x-method-override|x-forwarded-.*|forwarded)$/;

/** The same for a header that a model or a task names. */
export function foreignHeaderIssue(name: string, value: string): string | undefined {
  return FORBIDDEN.test(name.toLowerCase()) ? 'may not be set' : headerIssue(name, value);
}

/** Why a header cannot be sent, without its value; undefined when it can. */
export function headerIssue(name: string, value: string): string | undefined {
  if (!NAME.test(name)) return 'is not the name of a header';
  if (OF_CONNECTION.has(name.toLowerCase())) return 'is set by the connection itself';
  return VALUE.test(value) ? undefined : 'holds a character that a header cannot have';
}
