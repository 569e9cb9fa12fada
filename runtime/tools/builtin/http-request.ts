import * as z from 'zod/v4';

import type { OutgoingRequest } from '../../contracts/tools/outgoing';
import type { ToolSettings, TransportReply } from '../../contracts/tools/tool-transport';
import { RuntimeError } from '../../errors/runtime-error';
import { isJsonObject, type JsonObject, type JsonValue, tryParseJson } from '../../util/json';
import { foreignHeaderIssue } from '../transports/header-fields';
import { httpFailure } from '../transports/send-request';
import { contentType, decodeBody, isCompressed, isText } from '../web/decode-body';
import type { WebReply } from '../web/request-web';
import { askWebFor } from './ask-web';
import type { BuiltinTool } from './builtin-tool';
import { fitText } from './fit-json';
import { configOf, readConfig } from './read-config';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
/** Headers of the answer that a caller may have to act on. */
const SHOWN_HEADERS = ['content-type', 'location', 'retry-after', 'etag', 'last-modified', 'link'] as const;

const configSchema = configOf({
  only_allowed_hosts: z.boolean().default(false),
  methods: z
    .array(z.string().toUpperCase().pipe(z.enum(METHODS)))
    .min(1)
    .default([...METHODS]),
});

/** One HTTP request to an address that the model chose: to public hosts, and to those that the operator allows. */
export const httpRequest: BuiltinTool = {
  description: 'Makes an HTTP request to a public address and gives status, headers and body of the answer.',
  inputSchema: {
    type: 'object',
    properties: {
      method: { type: 'string', enum: METHODS },
      url: { type: 'string', description: 'http or https, with its query' },
      headers: { type: 'object', additionalProperties: { type: 'string' } },
      body: { description: 'Text, or JSON, which is sent as such' },
    },
    required: ['method', 'url'],
  },
  isRepeatable: (input) => methodOf(input) === 'GET',
  config: configSchema,
  prepare: (settings) => {
    const { methods, only_allowed_hosts: isRestricted } = readConfig(configSchema, settings);
    const ask = askWebFor(settings, { isRestricted });
    return async (call) => {
      const request = readRequest(settings, call.input, methods);
      const reply = await ask(call, { ...request, limitBytes: call.maxOutputBytes });
      return toReply(reply, call.maxOutputBytes);
    };
  },
};

type ModelRequest = Pick<OutgoingRequest, 'url' | 'method' | 'headers' | 'body'>;

function readRequest({ name: tool }: ToolSettings, input: JsonObject, methods: readonly string[]): ModelRequest {
  const { url, headers: givenHeaders, body } = input;
  const method = methodOf(input);
  if (typeof url !== 'string') throw new RuntimeError('TOOL_INVALID_ARGS', { tool, issues: 'url must be string' });
  if (!methods.includes(method)) {
    const reason = `the method ${method} is not allowed; allowed are ${methods.join(', ')}`;
    throw new RuntimeError('TOOL_PERMISSION_DENIED', { tool, reason });
  }
  if (method === 'GET' && !isEmpty(body)) {
    throw new RuntimeError('TOOL_INVALID_ARGS', { tool, issues: 'a GET request has no body' });
  }
  const headers = readHeaders(tool, givenHeaders);
  return { url, method, ...(method === 'GET' ? { headers } : withContent(headers, body)) };
}

function withContent(
  headers: Readonly<Record<string, string>>,
  body: JsonValue | undefined,
): Pick<ModelRequest, 'headers' | 'body'> {
  if (body === undefined || body === null) return { headers };
  const [type, text] =
    typeof body === 'string' ? ['text/plain; charset=utf-8', body] : ['application/json', JSON.stringify(body)];
  return { headers: { 'content-type': type, ...headers }, body: text };
}

function methodOf({ method }: JsonObject): string {
  return typeof method === 'string' ? method.toUpperCase() : 'GET';
}

/** Models give an empty object or text where they mean none. */
function isEmpty(body: JsonValue | undefined): boolean {
  if (body === undefined || body === null || body === '') return true;
  return isJsonObject(body) && Object.keys(body).length === 0;
}

function readHeaders(tool: string, given: JsonValue | undefined): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(isJsonObject(given) ? given : {})) {
    const lower = name.toLowerCase();
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    const issue = foreignHeaderIssue(name, text);
    if (issue !== undefined) throw new RuntimeError('TOOL_INVALID_ARGS', { tool, issues: `headers.${name} ${issue}` });
    headers[lower] = text;
  }
  return headers;
}

function toReply(reply: WebReply, limitBytes: number): TransportReply {
  const { status, headers } = reply;
  const type = contentType(reply);
  const isShown = isText(type) && !isCompressed(reply);
  const text = isShown ? decodeBody(reply, type) : '';
  if (status >= 400) return { text, isCut: false, failure: httpFailure(status, headers['retry-after']) };
  const shownHeaders = Object.fromEntries(
    SHOWN_HEADERS.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]])),
  ) as JsonObject;
  const answer: JsonObject = { status, headers: shownHeaders };
  if (!isShown) return { text: JSON.stringify({ ...answer, body: null, note: 'The body is not text.' }), isCut: false };
  return { text: withBody(answer, { text, isCut: reply.isCut }, limitBytes), isCut: false };
}

/** JSON as JSON, as long as all of it fits; anything else as text. */
function withBody(
  answer: JsonObject,
  { text, isCut }: { readonly text: string; readonly isCut: boolean },
  limitBytes: number,
): string {
  const parsed = isCut ? undefined : tryParseJson(text);
  const json = parsed?.ok === true ? JSON.stringify({ ...answer, body: parsed.value }) : undefined;
  if (json !== undefined && Buffer.byteLength(json) <= limitBytes) return json;
  return fitText(text, limitBytes, (body, isClipped) => ({
    ...answer,
    body,
    ...(isCut || isClipped ? { truncated: true } : {}),
  }));
}
