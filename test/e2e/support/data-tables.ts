import type { N8n } from './host';

interface NewTable {
  readonly name: string;
  /** All of them hold text. */
  readonly columns: readonly string[];
  readonly rows: readonly object[];
}

async function tablesPath(n8n: N8n): Promise<string> {
  const { id } = (await n8n.rest('GET', '/projects/personal')) as { id: string };
  return `/projects/${id}/data-tables`;
}

/** A data table of the owner's, as the editor makes it. Gives its id. */
export async function createTable(n8n: N8n, { name, columns, rows }: NewTable): Promise<string> {
  const tables = await tablesPath(n8n);
  const typed = columns.map((column) => ({ name: column, type: 'string' }));
  const { id } = (await n8n.rest('POST', tables, { name, columns: typed })) as { id: string };
  await n8n.rest('POST', `${tables}/${id}/insert`, { data: rows, returnType: 'count' });
  return id;
}

export async function tableRows(n8n: N8n, id: string): Promise<readonly Record<string, unknown>[]> {
  const { data } = (await n8n.rest('GET', `${await tablesPath(n8n)}/${id}/rows`)) as {
    data: readonly Record<string, unknown>[];
  };
  return data;
}
