import { createHash } from 'node:crypto';

import type { McpStore, McpTool } from '../../contracts/tools/mcp';
import { canonicalJson } from '../../util/json';
import { turn } from '../../util/turn';
import type { Statement } from '../statement';
import { named } from './named';
import text from './save-mcp-tools.sql';

export interface SavedToolRow {
  readonly name: string;
  readonly is_quarantined: boolean;
}

const SAVE = named<{
  readonly tenantId: string;
  readonly serverId: number;
  readonly ttlMs: number;
  readonly listed: string;
}>(text);

/** Made in turns: the schemas of a list may come to a megabyte. */
export async function saveMcpToolsStatement(request: Parameters<McpStore['saveTools']>[0]): Promise<Statement> {
  const listed: string[] = [];
  for (const [position, tool] of request.tools.entries()) {
    await turn();
    listed.push(JSON.stringify(toRow(tool, position)));
  }
  const { tenantId, serverId, ttlMs } = request;
  return SAVE({ tenantId, serverId, ttlMs, listed: `[${listed.join(',')}]` });
}

function toRow(tool: McpTool, position: number): object {
  const { name, description, inputSchema: input_schema, isRepeatable: is_repeatable, isReadOnly: is_read_only } = tool;
  return { name, description, input_schema, is_repeatable, is_read_only, hash: toolHash(tool), position };
}

/** What an approval holds for: everything of a tool that the model reads or that changes how it is called. */
function toolHash({ name, description, inputSchema, isRepeatable, isReadOnly }: McpTool): string {
  // Approvals from before effects were told apart hold for all but these.
  const effect = isRepeatable && !isReadOnly ? 'idempotent' : isRepeatable;
  return createHash('sha256')
    .update(canonicalJson([name, description, inputSchema, effect]))
    .digest('hex');
}
