import { createHash } from 'node:crypto';

import type { McpTool } from '../../contracts/mcp';
import { canonicalJson } from '../../util/json';
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

export function saveMcpToolsStatement(request: {
  readonly tenantId: string;
  readonly serverId: number;
  readonly tools: readonly McpTool[];
  readonly ttlMs: number;
}): Statement {
  const listed = request.tools.map((tool, position) => ({
    name: tool.name,
    description: tool.description,
    input_schema: tool.inputSchema,
    is_repeatable: tool.isRepeatable,
    hash: toolHash(tool),
    position,
  }));
  const { tenantId, serverId, ttlMs } = request;
  return SAVE({ tenantId, serverId, ttlMs, listed: JSON.stringify(listed) });
}

/** What an approval holds for: everything of a tool that the model reads or that changes how it is called. */
function toolHash({ name, description, inputSchema, isRepeatable }: McpTool): string {
  return createHash('sha256')
    .update(canonicalJson([name, description, inputSchema, isRepeatable]))
    .digest('hex');
}
