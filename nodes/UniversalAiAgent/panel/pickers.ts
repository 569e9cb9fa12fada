import type { ILoadOptionsFunctions, INodePropertyOptions } from 'n8n-workflow';

import { escapeHtml } from '../../shared/hints';
import { getTenantTools } from '../../shared/panel/pickers';

/** Tools whose description is shown. */
const MOST_LINES = 50;

/** The chosen tenant's tools as the one entry of a list: a line to read, whose value says nothing. */
export async function showTenantTools(this: ILoadOptionsFunctions): Promise<INodePropertyOptions[]> {
  const tools = await getTenantTools.call(this);
  const names = tools.map(({ name }) => name).join(', ');
  const lines = tools.map(({ name, description = '' }) => `<b>${escapeHtml(name)}</b> ${escapeHtml(description)}`);
  return [
    {
      name: names === '' ? 'None' : `${tools.length}: ${names}`,
      value: '',
      description: lines.slice(0, MOST_LINES).join('<br>'),
    },
  ];
}
