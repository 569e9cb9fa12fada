import type { IDataObject, IExecuteFunctions, INodeExecutionData } from 'n8n-workflow';

import type { Admin } from '../../runtime/host';
import { readEgress } from '../shared/egress';
import { LISTS } from './panel/operations.generated';
import { type Asked, operationTitle, readInput } from './read-input';

type Operation = (input: IDataObject, host?: object) => Promise<unknown>;

/** Carries out the operation of one item. Rejects with a RuntimeError. */
export async function operate(admin: Admin, asked: Asked): Promise<INodeExecutionData[]> {
  const { context, library, index } = asked;
  const read = (name: string): unknown => context.getNodeParameter(name, index, '');
  const [resource, name] = [String(read('resource')), String(read('operation'))];
  const operations = admin as unknown as Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  const lists = (LISTS as Readonly<Record<string, string>>)[`${resource}.${name}`];
  const input = readInput(asked);
  const host = { egress: readEgress(context) };
  const operation = operations[resource]?.[name] ?? noOperation(library);
  const carryOut: Operation = (query) => operation(query, host);
  const isWhole = lists !== undefined && read('returnAll') === true;
  const result = await (isWhole ? allPages(carryOut, input, lists) : carryOut(input)).catch((error: unknown) => {
    throw inWords(error, asked);
  });
  if (isFile(result)) return [await toFile(context, result, index)];
  // n8n would show the nearest number.
  const shown = library.mapExactIntegers(result, String);
  return toItems(shown, lists).map((json) => ({ json, pairedItem: { item: index } }));
}

/** Stands in for an operation that does not exist: a workflow need not come from the editor. */
const noOperation =
  ({ RuntimeError }: Asked['library']): Operation =>
  () => {
    const details = { operation: '', issues: 'there is no such operation' };
    return Promise.reject(new RuntimeError('ADMIN_INPUT_INVALID', details));
  };

/** The error with the operation in the words of the panel: `MCP Server: Add`. */
function inWords(error: unknown, asked: Asked): unknown {
  const { isRuntimeError, RuntimeError } = asked.library;
  if (!isRuntimeError(error) || error.code !== 'ADMIN_INPUT_INVALID') return error;
  return new RuntimeError('ADMIN_INPUT_INVALID', { ...error.details, operation: operationTitle(asked) });
}

interface ExportedFile {
  readonly file_name: string;
  readonly mime_type: string;
  readonly text: string;
}

const isFile = (result: unknown): result is ExportedFile => (result as Partial<ExportedFile>).mime_type !== undefined;

async function toFile(
  { helpers }: IExecuteFunctions,
  { file_name: name, mime_type: mimeType, text }: ExportedFile,
  index: number,
): Promise<INodeExecutionData> {
  const data = await helpers.prepareBinaryData(Buffer.from(text), name, mimeType);
  return { json: { file_name: name, mime_type: mimeType }, binary: { data }, pairedItem: { item: index } };
}

/** Every page of a list, as one. */
async function allPages(operation: Operation, input: IDataObject, key: string): Promise<IDataObject> {
  const { limit: _limit, ...query } = input;
  const rows: unknown[] = [];
  let after: unknown;
  do {
    const page = (await operation({
      ...query,
      ...(after === undefined ? {} : { after }),
    })) as IDataObject;
    rows.push(...(page[key] as unknown[]));
    after = page.next ?? undefined;
  } while (after !== undefined);
  return { [key]: rows };
}

/** A result as items: one for each entry of a list. */
function toItems(result: unknown, lists = ''): readonly IDataObject[] {
  const json = result as IDataObject;
  const rows = json[lists];
  return Array.isArray(rows) ? (rows as IDataObject[]) : [json];
}
