// Forms of the panel that stand for an object of the library's input.
import type { IDataObject } from 'n8n-workflow';

interface Entry {
  readonly argument: string;
  readonly pattern?: string;
  readonly value?: string;
  readonly min?: string;
  readonly max?: string;
}

/** Turns the forms of a request and of rules into the objects that they stand for. Throws an Error that names what is wrong. */
export function readForms(input: IDataObject): IDataObject {
  const { requestMethod: method, requestUrl: url, requestQuery, requestBody, rules, ...rest } = input;
  if (rest.transport === 'request') {
    rest.transport = undefined;
    rest.request = withoutEmpty({ method, url, query: pairsOf(requestQuery), body: pairsOf(requestBody) });
  }
  const given = rulesOf((rules ?? {}) as IDataObject);
  return Object.keys(given).length === 0 ? rest : { ...rest, rules: given };
}

/** The fields of a form by their names; undefined for none. */
function pairsOf(given: unknown): IDataObject | undefined {
  const { field = [] } = (given ?? {}) as { readonly field?: readonly { readonly name: string; value: string }[] };
  const names = field.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`the field "${twice}" is there twice`);
  return field.length === 0 ? undefined : Object.fromEntries(field.map(({ name, value }) => [name, value]));
}

function rulesOf({ allowed_patterns, fixed_arguments, limits, ...plain }: IDataObject): IDataObject {
  const patterns = [...Map.groupBy(entriesOf(allowed_patterns), ({ argument }) => argument)].map(
    ([argument, all]) => [argument, all.map(({ pattern }) => pattern)] as const,
  );
  const fixed = entriesOf(fixed_arguments).map(({ argument, value }) => [argument, value] as const);
  const bounds = entriesOf(limits).map(({ argument, ...given }) => {
    const bound = withoutEmpty({ min: numberOf(given.min), max: numberOf(given.max) });
    if (Object.keys(bound).length === 0) throw new Error(`the limit of "${argument}" has no minimum and no maximum`);
    return [argument, bound] as const;
  });
  return withoutEmpty({
    ...plain,
    allowed_patterns: objectOf(patterns),
    fixed_arguments: objectOf(fixed),
    limits: objectOf(bounds),
  });
}

function entriesOf(given: unknown): readonly Entry[] {
  return ((given ?? {}) as { readonly of?: readonly Entry[] }).of ?? [];
}

function objectOf(entries: readonly (readonly [string, unknown])[]): IDataObject | undefined {
  return entries.length === 0 ? undefined : (Object.fromEntries(entries) as IDataObject);
}

/** A bound may be left out, which n8n's own field for numbers cannot say within a list. */
function numberOf(text: unknown): number | undefined {
  if (text === undefined || text === null || (typeof text === 'string' && text.trim() === '')) return undefined;
  const number = Number(text);
  if (!Number.isFinite(number)) throw new Error(`${JSON.stringify(text)} is not a number`);
  return number;
}

/** Sets what Clear names to null. Throws an Error for a field that is given as well. */
export function withNulls({ clear = [], ...input }: IDataObject): IDataObject {
  // An expression may give them as text.
  const names = typeof clear === 'string' ? clear.split(',').map((name) => name.trim()) : (clear as readonly string[]);
  const both = names.filter((name) => input[name] !== undefined);
  if (both.length > 0) throw new Error(`Clear names ${both.join(', ')}, which is given as well`);
  return { ...input, ...Object.fromEntries(names.map((name) => [name, null])) };
}

export function withoutEmpty(object: IDataObject): IDataObject {
  return Object.fromEntries(
    Object.entries(object).filter(([, value]) => value !== undefined && value !== '' && value !== null),
  );
}
