import type { Client, ListToolsResult, StandardSchemaV1 } from '@modelcontextprotocol/client';

import { isJsonObject } from '../../util/json';

type Request = (request: { readonly method: string }, ...rest: readonly unknown[]) => Promise<unknown>;

/**
 * Lets a client of the old generation read pages of tools without going through every schema in them at once: the SDK's own
 * check takes a tenth of a second for a list of a megabyte, and each schema is judged afterwards, one after the other.
 */
export function withLightLists(client: Client): Client {
  const request = client.request.bind(client) as Request;
  const light: Request = (given, ...rest) =>
    given.method === 'tools/list' && client.getProtocolEra() === 'legacy'
      ? request(given, TOOL_PAGE, rest[0])
      : request(given, ...rest);
  client.request = light;
  return client;
}

const TOOL_PAGE: StandardSchemaV1<ListToolsResult> = {
  '~standard': {
    version: 1,
    vendor: 'universal-ai-agent',
    validate: (value) =>
      isJsonObject(value) && Array.isArray(value.tools)
        ? { value: value as unknown as ListToolsResult }
        : { issues: [{ message: 'the list of tools has no array of tools' }] },
  },
};
