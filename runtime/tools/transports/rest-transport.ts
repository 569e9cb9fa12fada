import type { Agent } from 'undici';

import type {
  ConfiguredTransport,
  PreparedTool,
  ToolSettings,
  TransportCall,
  TransportReply,
} from '../../contracts/tools/tool-transport';
import { isJsonObject, type JsonObject, type JsonValue, tryParseJson } from '../../util/json';
import { clipText } from '../../util/text/clip-text';
import { failureReason } from '../failure-reason';
import { createServerPools } from './hook-transport';
import { readRestConfig, type RestConfig } from './rest-config';
import { buildRestRequest } from './rest-request';
import { sendRequest, toTransportReply } from './send-request';

/** So much is read of an answer that is looked into before it is passed on. */
const MAX_JUDGED_BYTES = 1024 * 1024;

/** Calls HTTP APIs as they are: where the arguments go stands in the row's transport_config. */
export function createRestTransport(): ConfiguredTransport {
  const dispatcher = createServerPools();
  return {
    prepare: (settings) => prepareRest(dispatcher, settings),
    close: () => dispatcher.destroy(),
  };
}

function prepareRest(dispatcher: Agent, given: ToolSettings): PreparedTool {
  const config = readRestConfig(given.config);
  const settings = { ...given, secrets: [...given.secrets, ...fixedSecrets(config)] };
  const isRepeatable = config.method === 'GET';
  return {
    settings,
    isRepeatable,
    isReadOnly: isRepeatable,
    call: (call) => callRest({ dispatcher, settings, config }, call),
  };
}

async function callRest(
  tool: { readonly dispatcher: Agent; readonly settings: ToolSettings; readonly config: RestConfig },
  call: TransportCall,
): Promise<TransportReply> {
  const { dispatcher, settings, config } = tool;
  const { name, endpoint } = settings;
  const isJudged = config.success !== undefined || config.resultPath !== undefined;
  const reply = toTransportReply(
    await sendRequest(dispatcher, settings, {
      ...buildRestRequest({ name, endpoint, config }, call.input),
      signal: call.signal,
      maxOutputBytes: isJudged ? Math.max(MAX_JUDGED_BYTES, call.maxOutputBytes) : call.maxOutputBytes,
    }),
  );
  const judged = isJudged && reply.failure === undefined && !reply.isCut ? judge(config, reply.text) : reply;
  const { text, isCut } = clipText(judged.text, call.maxOutputBytes);
  return { ...judged, text, isCut: reply.isCut || isCut };
}

/** Whether the answer says what success says, and the part of it that the model is given. */
function judge({ success, resultPath }: RestConfig, text: string): TransportReply {
  const parsed = tryParseJson(text);
  const answer = parsed.ok ? parsed.value : text;
  if (success !== undefined && !isSame(valueAt(answer, success.path), success.equals)) {
    const reason = text.trim() === '' ? 'the answer is empty' : parsed.ok ? failureReason(answer) : text;
    return { text: reason, isCut: false, failure: { code: 'TOOL_FAILED' } };
  }
  const result = resultPath === undefined ? undefined : valueAt(answer, resultPath);
  return { text: result === undefined ? text : JSON.stringify(result), isCut: false };
}

function isSame(value: JsonValue | undefined, expected: JsonValue): boolean {
  return value !== undefined && JSON.stringify(value) === JSON.stringify(expected);
}

/** What `data.items.0` leads to; undefined when it leads nowhere. */
function valueAt(value: JsonValue, path: string): JsonValue | undefined {
  let inner: JsonValue | undefined = value;
  for (const key of path.split('.')) {
    if (typeof inner !== 'object' || inner === null || !Object.hasOwn(inner, key)) return undefined;
    inner = (inner as JsonObject)[key];
  }
  return inner;
}

const SECRET_NAME = /token|secret|key|passw|auth|credential/i;

/** Fixed values that are blanked wherever the server repeats them: all headers, and fields whose name says so. */
function fixedSecrets({ headers, query, body }: RestConfig): readonly string[] {
  return [...Object.values(headers), ...namedSecrets(query), ...namedSecrets(body ?? null)];
}

function namedSecrets(template: JsonValue): readonly string[] {
  if (Array.isArray(template)) return (template as JsonValue[]).flatMap(namedSecrets);
  if (!isJsonObject(template)) return [];
  return Object.entries(template).flatMap(([name, value]) =>
    typeof value === 'string' && SECRET_NAME.test(name) ? secretText(value) : namedSecrets(value),
  );
}

/** A placeholder is no secret, but what stands around it may be. */
function secretText(template: string): readonly string[] {
  return template.split(/\{\{[^{}]*\}\}/).filter((text) => text !== '');
}
