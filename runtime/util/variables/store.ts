import { type JsonObject, type JsonValue, prototypeKeyIn } from '../json';
import { VARIABLE_NAME, type Variables } from './fill';

const MAX_VARIABLES = 100;
const SHOWN_LENGTH = 64;
const MAX_TOTAL_BYTES = 64 * 1024;

/** Sets a variable, or returns the reason why it cannot be set. */
export function storeVariable(variables: Map<string, JsonValue>, name: string, value: JsonValue): string | undefined {
  const issue = issueOfName(name) ?? issueOfAll(new Map(variables).set(name, value));
  if (issue === undefined) variables.set(name, value);
  return issue;
}

/** Returns the reason why these cannot be the variables of a run. */
export function issueOfVariables(given: JsonObject): string | undefined {
  for (const name of Object.keys(given)) {
    const issue = issueOfName(name);
    if (issue !== undefined) return issue;
  }
  return issueOfAll(new Map(Object.entries(given)));
}

/** Returns the reason why no variable can have this name. */
export function issueOfName(name: string): string | undefined {
  if (VARIABLE_NAME.test(name) && prototypeKeyIn({ [name]: null }) === undefined) return undefined;
  const shown = JSON.stringify(name.slice(0, SHOWN_LENGTH));
  return `${shown} is not a name of a variable: use 1 to 64 letters, digits, _ and -, with a letter or _ in front`;
}

function issueOfAll(variables: Variables): string | undefined {
  if (variables.size > MAX_VARIABLES) return `only ${MAX_VARIABLES} variables fit`;
  const bytes = Buffer.byteLength(JSON.stringify([...variables]));
  return bytes > MAX_TOTAL_BYTES ? `all variables together are longer than ${MAX_TOTAL_BYTES} bytes` : undefined;
}
