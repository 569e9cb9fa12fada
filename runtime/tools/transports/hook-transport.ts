import { Agent, type Dispatcher } from 'undici';

import type { ToolSettings, ToolTransport, TransportCall } from '../../contracts/tools/tool-transport';
import { sendRequest, type ServerReply, toTransportReply } from './send-request';

/** Keep-alive pools for the servers that rows name; the tool's own time-out holds, and no other. */
export function createServerPools(): Agent {
  return new Agent({ keepAliveTimeout: 10_000, headersTimeout: 0, bodyTimeout: 0 });
}

/** The documents' HTTP hook: POST `{tool, arguments, tenant_id, meta}`. */
export function createHookTransport(): ToolTransport {
  const dispatcher = createServerPools();
  return {
    call: async (settings, call) => toTransportReply(await postHook(dispatcher, settings, call)),
    close: () => dispatcher.destroy(),
  };
}

/** Posts the documents' hook body to the row's endpoint. */
export function postHook(dispatcher: Dispatcher, settings: ToolSettings, call: TransportCall): Promise<ServerReply> {
  const { tenant_id, ...meta } = call.meta;
  return sendRequest(dispatcher, settings, {
    url: settings.endpoint,
    method: 'POST',
    body: { tool: settings.name, arguments: call.input, tenant_id, meta },
    signal: call.signal,
    maxOutputBytes: call.maxOutputBytes,
  });
}
