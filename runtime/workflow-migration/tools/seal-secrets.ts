import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json';
import { showName } from '../show-name';
import { holdsSecret, isSecretName } from './secret-text';
import { type Refusal, vaultName } from './tool-row';

/** What a request sends, with names of the vault where secrets stood. */
export interface Sealed {
  readonly config: JsonObject;
  /** What a person has to put into the vault. */
  readonly secrets: readonly string[];
}

/** What a row would read as the name of a secret, and send in its place: files of strangers may ask for none. */
const REFERENCE = /^\s*(?:\S+\s+)?(?:vault|channel):/i;
const ARGUMENT = /^\{\{[\w-]+\}\}$/;

interface Walk {
  readonly code: string;
  /** Secrets by their names in the vault. */
  readonly secrets: Map<string, string>;
  /** Why a row cannot hold it. */
  why?: string;
}

/** A secret belongs into the vault, not into a file of SQL. */
export function sealSecrets(code: string, config: JsonObject): Sealed | Refusal {
  const walk: Walk = { code, secrets: new Map() };
  const sealed = sealObject(config, { walk, place: [], isSecret: false });
  if (walk.why !== undefined) return { why: walk.why };
  return { config: sealed, secrets: [...walk.secrets.values()] };
}

interface Place {
  readonly walk: Walk;
  readonly place: readonly string[];
  /** Something around it is called as a secret is. */
  readonly isSecret: boolean;
}

function sealObject(value: JsonObject, at: Place): JsonObject {
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, seal(inner, below(at, key))]));
}

function below({ walk, place, isSecret }: Place, key: string): Place {
  return { walk, place: [...place, key], isSecret: isSecret || (place.length > 0 && isSecretName(key)) };
}

function seal(value: JsonValue, at: Place): JsonValue {
  if (typeof value === 'string') return sealText(value, at);
  if (isJsonObject(value)) return sealObject(value, at);
  if (Array.isArray(value)) return value.map((item: JsonValue, index) => seal(item, below(at, String(index))));
  if (typeof value === 'number' && at.isSecret) at.walk.why = 'it sends a number that looks like a secret.';
  return value;
}

function sealText(text: string, { walk, place, isSecret }: Place): string {
  if (REFERENCE.test(text)) walk.why = 'it sends a text that a row would read as the name of a secret.';
  if (text === '' || ARGUMENT.test(text) || !(isSecret || holdsSecret(text))) return text;
  if (text.includes('{{')) walk.why = 'what looks like a secret is put together with what the model gives.';
  const name = vaultName(walk.code, place.join('_'));
  if (walk.secrets.has(name)) walk.why = 'two of its secrets would have the same name in the vault.';
  walk.secrets.set(name, `Put the value of ${showName(place.join('.'))} into the vault under the name ${name}.`);
  return `vault:${name}`;
}
