import { Agent, request } from 'undici';

import type { ToolSettings, ToolTransport, TransportCall, TransportReply } from '../contracts/tool-transport';
import { decodeClipped } from '../util/clip-text';

/**
 * The documents' HTTP hook: POST `{tool, arguments, tenant_id, meta}`. Redirects are not followed,
 * since they would carry the tenant's credentials to a place that no row names.
 */
export function createHookTransport(): ToolTransport {
  const dispatcher = new Agent({ keepAliveTimeout: 10_000, headersTimeout: 0, bodyTimeout: 0 });
  return {
    call: (settings, call) => post(dispatcher, settings, call),
    close: () => dispatcher.destroy(),
  };
}

async function post(dispatcher: Agent, settings: ToolSettings, call: TransportCall): Promise<TransportReply> {
  const { tenant_id, ...meta } = call.meta;
  const { statusCode, body } = await request(settings.endpoint, {
    dispatcher,
    method: 'POST',
    headers: {
      ...settings.headers,
      'content-type': 'application/json',
      accept: 'application/json',
      ...(settings.authHeader === undefined ? {} : { authorization: settings.authHeader }),
    },
    body: JSON.stringify({ tool: settings.name, arguments: call.input, tenant_id, meta }),
    signal: call.signal,
  });
  const read = await readBounded(body, call.maxOutputBytes);
  return statusCode < 300 ? read : { ...read, failure: { code: 'TOOL_HTTP_ERROR', status: statusCode } };
}

/** Reads up to the limit and drops the rest unread, so that a huge answer costs neither memory nor time. */
async function readBounded(
  body: AsyncIterable<Buffer> & { destroy: () => unknown },
  limitBytes: number,
): Promise<TransportReply> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > limitBytes) break;
  }
  const bytes = Buffer.concat(chunks);
  if (size <= limitBytes) return { text: bytes.toString('utf8'), isCut: false };
  body.destroy();
  return { text: decodeClipped(bytes.subarray(0, limitBytes)), isCut: true };
}
