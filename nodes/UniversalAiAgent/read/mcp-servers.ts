import type { ICredentialDataDecryptedObject, IExecuteFunctions, INodeProperties } from 'n8n-workflow';
import * as workflow from 'n8n-workflow';

import type * as RuntimeLibrary from '../../../runtime/host';
import { credentialText } from '../../shared/database';

type McpServerInput = NonNullable<RuntimeLibrary.RunOptions['mcpServers']>[number];

/** The option for servers that stand in the workflow itself. */
export const mcpServers: INodeProperties = {
  displayName: 'MCP Servers',
  name: 'mcpServers',
  type: 'fixedCollection',
  typeOptions: { multipleValues: true },
  placeholder: 'Add Server',
  default: {},
  description: 'MCP servers whose tools this node offers beside those of the tenant',
  options: [
    {
      displayName: 'Server',
      name: 'servers',
      // In the order in which a person fills them in.
      values: [
        {
          displayName: 'Name',
          name: 'name',
          type: 'string',
          default: '',
          placeholder: 'e.g. shop',
          description: 'Stands before the names of its tools, as in shop_search',
        },
        {
          displayName: 'URL',
          name: 'url',
          type: 'string',
          default: '',
          placeholder: 'e.g. https://mcp.example.com/mcp',
          description: 'Where the server listens',
        },
        {
          displayName: 'Transport',
          name: 'transport',
          type: 'options',
          options: [
            {
              name: 'HTTP',
              value: 'http',
              description: 'Streamable HTTP, which nearly all servers speak',
            },
            {
              name: 'Server-Sent Events',
              value: 'sse',
              description: 'Servers from before 2025',
            },
            {
              name: 'WebSocket',
              value: 'websocket',
            },
          ],
          default: 'http',
          description: 'How the server is spoken to',
        },
        {
          displayName: 'Authentication',
          name: 'authentication',
          type: 'options',
          options: [
            {
              name: 'Bearer',
              value: 'httpBearerAuth',
            },
            {
              name: 'Header',
              value: 'httpHeaderAuth',
            },
            {
              name: 'MCP OAuth2',
              value: 'mcpOAuth2Api',
            },
            {
              name: 'None',
              value: 'none',
            },
          ],
          default: 'none',
          description: 'Which of the credentials above the server gets',
        },
        {
          displayName: 'Tools to Include',
          name: 'includeTools',
          type: 'string',
          default: '',
          placeholder: 'e.g. search, order',
          description: 'Names of tools, with commas between them. Empty means all of them.',
        },
      ],
    },
  ],
};

interface ServerOption {
  readonly name?: string;
  readonly url?: string;
  readonly transport?: string;
  readonly authentication?: string;
  readonly includeTools?: string;
}

/** The servers that the options name, with their credentials. */
export async function readMcpServers(
  context: IExecuteFunctions,
  itemIndex: number,
): Promise<readonly McpServerInput[]> {
  const { options } = context.getNode().parameters as { options?: { mcpServers?: unknown } };
  // Most nodes have none, and reading a parameter takes n8n its time.
  if (options?.mcpServers === undefined) return [];
  const given = context.getNodeParameter('options.mcpServers.servers', itemIndex, []) as ServerOption[];
  return Promise.all(given.map((server) => readServer(context, itemIndex, server)));
}

async function readServer(
  context: IExecuteFunctions,
  itemIndex: number,
  { name = '', url = '', transport = 'http', authentication = 'none', includeTools = '' }: ServerOption,
): Promise<McpServerInput> {
  const tools = includeTools
    .split(',')
    .map((tool) => tool.trim())
    .filter((tool) => tool !== '');
  return {
    name,
    url,
    transport,
    ...(tools.length === 0 ? {} : { includeTools: tools }),
    ...(await readCredential(context, itemIndex, authentication)),
  };
}

async function readCredential(
  context: IExecuteFunctions,
  itemIndex: number,
  type: string,
): Promise<Pick<McpServerInput, 'auth' | 'renewToken'>> {
  if (type === 'none') return {};
  const credential = await context.getCredentials(type, itemIndex);
  const text = credentialText(credential);
  if (type === 'httpBearerAuth') return { auth: { kind: 'bearer', token: text('token') } };
  if (type === 'httpHeaderAuth') return { auth: { kind: 'headers', headers: { [text('name')]: text('value') } } };
  const renewToken = (): Promise<string | undefined> => renew(context, type);
  return { auth: { kind: 'bearer', token: await oauthToken(credential, renewToken) }, renewToken };
}

/** n8n keeps the token, and knows how to get another one. */
async function oauthToken(
  credential: ICredentialDataDecryptedObject,
  renewToken: () => Promise<string | undefined>,
): Promise<string> {
  const data = credential.oauthTokenData as { access_token?: string } | undefined;
  // Where n8n does not tell when a token ends, the server's refusal does.
  const isOver = workflow.shouldRefreshMcpOAuth2Token as typeof workflow.shouldRefreshMcpOAuth2Token | undefined;
  if (isOver?.(data, credential.grantType) === true) {
    // When that fails, the server has the last word on the token that there is.
    const renewed = await renewToken().catch(() => undefined);
    if (renewed !== undefined) return renewed;
  }
  return data?.access_token ?? '';
}

async function renew(context: IExecuteFunctions, type: string): Promise<string | undefined> {
  const token = (await context.helpers.refreshOAuth2Token.call(context, type)) as { access_token?: string } | undefined;
  return token?.access_token;
}
