import type { ToolRow } from '../contracts/tenant';
import { parseSetting } from '../util/parse-setting';
import { readToolConfig } from './tool-settings';
import { findBuiltin } from './transports/builtin-transport';
import { readRestConfig } from './transports/rest-config';

/** Throws an Error that says what in a row's custom_config or transport_config cannot be read. Opens no secret, and calls nothing. */
export function checkToolRow(row: ToolRow): void {
  const { config } = readToolConfig(row);
  if (row.transport === 'rest') readRestConfig(config);
  if (row.transport === 'builtin') parseSetting(findBuiltin(row).config, config, 'transport_config');
}
