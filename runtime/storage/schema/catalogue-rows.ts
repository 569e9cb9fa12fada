/** A row of elo_agent_tools that comes with this package. */
export interface CatalogueRow {
  readonly code: string;
  readonly name: string;
  readonly transport: 'rest' | 'builtin';
  readonly tiers: readonly string[];
  /** Built-in tools bring their own description and schema. */
  readonly description?: string;
  readonly schema?: object;
  readonly endpoint?: string;
  readonly config?: object;
}

const FROM_SMALL = ['small', 'optima', 'pro', 'expert'];
const FROM_OPTIMA = ['optima', 'pro', 'expert'];
const FROM_PRO = ['pro', 'expert'];

const TEXT = { type: 'string' };
/** Shared by the messenger servers; the vault holds it. */
const API_KEY = { 'X-API-Key': 'vault:mcp_api_key' };

const builtin = (code: string, name: string, tiers: readonly string[]): CatalogueRow => ({
  code,
  name,
  tiers,
  transport: 'builtin',
});

/** The catalogue in the order in which it is listed. The free tier has no tools. */
export const CATALOGUE_ROWS: readonly CatalogueRow[] = [
  {
    code: 'mcp_telegram',
    name: 'Send Telegram Message',
    transport: 'rest',
    tiers: FROM_OPTIMA,
    description: 'Sends a message to a Telegram chat',
    schema: {
      type: 'object',
      properties: { chat_id: TEXT, text: TEXT, parse_mode: { type: 'string', enum: ['HTML', 'MarkdownV2'] } },
      required: ['chat_id', 'text'],
    },
    endpoint: 'http://mcp-telegram:8767',
    config: {
      path: '/api/send',
      headers: API_KEY,
      body: {
        token: 'channel:telegram.token',
        chat_id: '{{chat_id}}',
        text: '{{text}}',
        parse_mode: '{{parse_mode}}',
      },
    },
  },
  {
    code: 'mcp_whatsapp',
    name: 'Send WhatsApp Message',
    transport: 'rest',
    tiers: FROM_OPTIMA,
    description: 'Sends a message to a WhatsApp number',
    schema: {
      type: 'object',
      properties: {
        phone: { type: 'string', description: 'With the country code' },
        text: TEXT,
        reply_to: { type: 'string', description: 'The id of the message that is answered' },
      },
      required: ['phone', 'text'],
    },
    endpoint: 'http://mcp-whatsapp:8766',
    config: {
      path: '/api/messages/send',
      headers: API_KEY,
      body: { to: '{{phone}}', text: '{{text}}', reply_to: '{{reply_to}}' },
    },
  },
  {
    code: 'mcp_avito',
    name: 'Send Avito Message',
    transport: 'rest',
    tiers: FROM_OPTIMA,
    description: 'Sends a message to an Avito chat',
    schema: { type: 'object', properties: { chat_id: TEXT, text: TEXT }, required: ['chat_id', 'text'] },
    endpoint: 'http://mcp-avito:8765',
    config: {
      path: '/api/messages/send',
      headers: API_KEY,
      body: { chat_id: '{{chat_id}}', text: '{{text}}' },
    },
  },
  builtin('http_request', 'HTTP Request', FROM_OPTIMA),
  builtin('web_fetch', 'Read Web Page', FROM_OPTIMA),
  builtin('extract', 'Extract from Web Page', FROM_OPTIMA),
  { ...builtin('neo4j_query', 'Query Neo4j', FROM_PRO), endpoint: 'http://neo4j:7474' },
  builtin('sql_query', 'SQL Query', FROM_PRO),
  builtin('redis_get', 'Read Redis Key', FROM_SMALL),
  builtin('set_variable', 'Set Variable', FROM_SMALL),
  builtin('get_variable', 'Get Variable', FROM_SMALL),
  builtin('time_now', 'Get Time', FROM_SMALL),
];
