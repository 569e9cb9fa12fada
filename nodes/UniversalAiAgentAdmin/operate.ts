import type { IDataObject, IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';

import type { Admin } from '../../runtime';
import { readEgress } from '../shared/egress';
import { type Asked, readInput } from './read-input';

/** Operations whose list becomes one item for each entry, and the keys that such lists come under. */
const LISTING = ['list', 'health', 'refresh', 'summary', 'topSpenders', 'unknown'];
const LISTS = [
  'tenants',
  'tools',
  'servers',
  'secrets',
  'logins',
  'prices',
  'tiers',
  'runs',
  'approvals',
  'usage',
  'spenders',
  'unknown_usage',
];

type Operation = (input: IDataObject, host?: object) => Promise<unknown>;

/** Carries out the operation of one item. Rejects with a RuntimeError. */
export async function operate(admin: Admin, asked: Asked): Promise<INodeExecutionData[]> {
  const { context, library, index } = asked;
  const read = (name: string): unknown => context.getNodeParameter(name, index, '');
  const [resource, name] = [String(read('resource')), String(read('operation'))];
  const operations = admin as unknown as Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  const operation = operations[resource]?.[name];
  if (operation === undefined) {
    throw new library.RuntimeError('ADMIN_INPUT_INVALID', {
      operation: `${resource} ${name}`,
      issues: 'there is no such operation',
    });
  }
  const input = readInput(asked);
  const host = { egress: readEgress(context) };
  const carryOut: Operation = (query) => operation(query, host);
  const result = read('returnAll') === true ? await allPages(carryOut, input) : await carryOut(input);
  if (name === 'export' || name === 'report') return [await toFile(context, result as ExportedFile, index)];
  // n8n would show the nearest number.
  const shown = library.mapExactIntegers(result, String);
  return toItems(shown, name).map((json) => ({ json, pairedItem: { item: index } }));
}

interface ExportedFile {
  readonly file_name: string;
  readonly mime_type: string;
  readonly text: string;
}

async function toFile(
  { helpers }: IExecuteFunctions,
  { file_name: name, mime_type: mimeType, text }: ExportedFile,
  index: number,
): Promise<INodeExecutionData> {
  const data = await helpers.prepareBinaryData(Buffer.from(text), name, mimeType);
  return { json: { file_name: name, mime_type: mimeType }, binary: { data }, pairedItem: { item: index } };
}

/** Every page of a list, as one. */
async function allPages(operation: Operation, input: IDataObject): Promise<IDataObject> {
  const { limit: _limit, ...query } = input;
  const rows: unknown[] = [];
  let key = '';
  let after: unknown;
  do {
    const page = (await operation({
      ...query,
      ...(after === undefined ? {} : { after }),
    })) as IDataObject;
    key = LISTS.find((name) => name in page) ?? '';
    rows.push(...(page[key] as unknown[]));
    after = page.next ?? undefined;
  } while (after !== undefined);
  return { [key]: rows };
}

/** A result as items: one for each entry of a list. What a tool gave is told under `result`. */
function toItems(result: unknown, name: string): readonly IDataObject[] {
  if (name === 'execute') return [toolResult(result as { readonly isError: boolean; readonly value: unknown })];
  const json = result as IDataObject;
  const key = LISTING.includes(name) ? LISTS.find((list) => Array.isArray(json[list])) : undefined;
  return key === undefined ? [json] : (json[key] as IDataObject[]);
}

function toolResult({ isError, value }: { readonly isError: boolean; readonly value: unknown }): IDataObject {
  // The code, message and hint that a model would be told.
  if (isError) throw Object.assign(new Error(), value);
  return { result: value as IDataObject };
}
