import type { IDataObject, IExecuteFunctions, INodeProperties, INodePropertyOptions } from 'n8n-workflow';

import type { Item } from '../shared/item';
import { readForms, withNulls, withoutEmpty } from './forms';
import { properties } from './panel/description';
import { OPERATIONS, RESOURCES } from './panel/operations.generated';

/** Collections whose options are keys of the input themselves. */
const FLAT = ['additionalFields', 'filters'];
/** Texts that hold JSON: n8n marks an empty field of the type `json` as an error. */
const JSON_TEXTS = ['customConfig', 'permissions'];
/** What steers the panel, and is no part of the input. */
const PANEL = ['resource', 'operation', 'returnAll', 'schemaMode'];

/** One operation on one item. */
export type Asked = Pick<Item, 'context' | 'library' | 'index'>;

/**
 * The parameters that the panel shows for the chosen operation, under the keys of the library's function: they have the
 * same names. What is left empty is left out. Throws ADMIN_INPUT_INVALID for JSON that is none.
 */
export function readInput(asked: Asked): IDataObject {
  const { context, index } = asked;
  const input: IDataObject = {};
  for (const property of properties.filter((one) => !PANEL.includes(one.name) && isShown(one, context, index))) {
    const { name } = property;
    const given = context.getNodeParameter(name, index, undefined, {
      extractValue: property.type === 'resourceLocator',
    });
    if (FLAT.includes(name)) Object.assign(input, readCollection(asked, property, given as IDataObject));
    else if (name === 'settings') input.settings = settingsOf(readCollection(asked, property, given as IDataObject));
    else if (name === 'argumentFields') input.arguments = argumentsOf(given);
    // One tenant in the panel, a list of them in the library.
    else if (name === 'enableFor') input.enableFor = given === '' ? undefined : [given];
    else if (name === 'fields') input.fields = fieldsOf(asked, given as { field?: IDataObject[] } | undefined);
    else input[name] = readValue(asked, property, given);
  }
  try {
    return withNulls(withoutEmpty(readForms(input)));
  } catch (error) {
    const issues = (error as Error).message;
    throw new asked.library.RuntimeError('ADMIN_INPUT_INVALID', { operation: operationTitle(asked), issues });
  }
}

/** Whether the panel shows a parameter or a credential. */
export function isShown(
  { displayOptions }: Pick<INodeProperties, 'displayOptions'>,
  context: IExecuteFunctions,
  index: number,
): boolean {
  const { show = {}, hide = {} } = displayOptions ?? {};
  const holds = ([name, values]: [string, unknown]): boolean =>
    (values as unknown[]).includes(context.getNodeParameter(name, index, ''));
  return Object.entries(show).every(holds) && !Object.entries(hide).some(holds);
}

function readCollection(asked: Asked, { options }: INodeProperties, given: IDataObject = {}): IDataObject {
  const known = new Map(((options ?? []) as INodeProperties[]).map((option) => [option.name, option]));
  const entries = Object.entries(given).map(([name, value]) => {
    const option = known.get(name);
    return [name, option === undefined ? value : readValue(asked, option, value)] as const;
  });
  return withoutEmpty(Object.fromEntries(entries));
}

function readValue(asked: Asked, { name, type, displayName }: INodeProperties, value: unknown): IDataObject[string] {
  const isJson = type === 'json' || JSON_TEXTS.includes(name);
  if (!isJson || typeof value !== 'string') return value as IDataObject[string];
  if (value.trim() === '') return undefined;
  try {
    return asked.library.parseExactly(value) as IDataObject;
  } catch (error) {
    const issues = `${displayName} is not valid JSON: ${(error as Error).message}`;
    throw new asked.library.RuntimeError('ADMIN_INPUT_INVALID', { operation: operationTitle(asked), issues });
  }
}

/** An empty list means no arguments for a new tool; of one that is there already it changes nothing. */
function fieldsOf(
  { context, index }: Asked,
  { field = [] }: { readonly field?: IDataObject[] } = {},
): IDataObject[string] {
  const isNew = context.getNodeParameter('operation', index) === 'create';
  return field.length === 0 && !isNew ? undefined : field;
}

/** Settings that have no field of their own come as JSON beside them. */
function settingsOf({ other, ...fields }: IDataObject): IDataObject | undefined {
  const settings = { ...(other as IDataObject | undefined), ...fields };
  return Object.keys(settings).length === 0 ? undefined : settings;
}

/** The form's values; an expression may give the arguments themselves. */
function argumentsOf(given: unknown): IDataObject {
  const { value } = (given ?? {}) as { readonly value?: IDataObject | null };
  return withoutEmpty(value ?? {});
}

/** The chosen operation in the words of the panel, for errors: `Tenant: Create`. */
export function operationTitle({ context, index }: Asked): string {
  const read = (name: string): string => context.getNodeParameter(name, index, '') as string;
  const [resource, operation] = [read('resource'), read('operation')];
  const known = OPERATIONS as Readonly<Record<string, readonly INodePropertyOptions[]>>;
  const titles = [
    RESOURCES.find(({ value }) => value === resource)?.name ?? resource,
    (Object.hasOwn(known, resource) ? known[resource] : undefined)?.find(({ value }) => value === operation)?.name ??
      operation,
  ];
  return titles.join(': ');
}
