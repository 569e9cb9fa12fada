import * as z from 'zod/v4';

import type { KeyReader } from '../../contracts/tools/key-reader';
import { RuntimeError } from '../../errors/runtime-error';
import { untilAborted } from '../../util/abort';
import { isJsonObject, type JsonObject, type JsonValue, tryParseJson } from '../../util/json';
import type { BuiltinTool } from './builtin-tool';
import { fitText } from './fit-json';
import { configOf, readConfig } from './read-config';

const MAX_KEY_LENGTH = 512;
const TENANT = '{tenant_id}';

const configSchema = configOf({ key_prefix: z.string().min(1).default(`tenant:${TENANT}:`) });

/** Reads one key of the tenant. Every key is put behind the tenant's prefix, so that no other one can be named. */
export const redisGet: BuiltinTool = {
  description: 'Reads a value from the key-value store. Gives null when there is no such key.',
  inputSchema: {
    type: 'object',
    properties: { key: { type: 'string', description: 'The name of the key, without any prefix' } },
    required: ['key'],
    additionalProperties: false,
  },
  isRepeatable: true,
  config: configSchema,
  prepare: (settings, { keys }) => {
    const { key_prefix: template } = readConfig(configSchema, settings);
    if (keys === undefined) throw new Error('no Redis is configured');
    return async ({ input, meta, signal, maxOutputBytes }) => {
      const prefix = template.replaceAll(TENANT, meta.tenant_id);
      const key = readKey(settings.name, input, { prefix, head: template.split(TENANT)[0] ?? '' });
      const text = await untilAborted(read(settings.name, keys, prefix + key), signal);
      return { text: answer(key, text, maxOutputBytes), isCut: false };
    };
  },
};

async function read(tool: string, keys: KeyReader, key: string): Promise<string | null> {
  try {
    return await keys.get(key);
  } catch (error) {
    const isWrongType = error instanceof Error && error.message.includes('WRONGTYPE');
    throw isWrongType ? new RuntimeError('TOOL_FAILED', { tool, reason: 'the key holds no text' }) : error;
  }
}

function readKey(
  tool: string,
  { key }: JsonObject,
  { prefix, head }: { readonly prefix: string; readonly head: string },
): string {
  if (typeof key !== 'string' || key === '' || key.length > MAX_KEY_LENGTH || key.includes('\0')) {
    throw new RuntimeError('TOOL_INVALID_ARGS', { tool, issues: `key must be 1 to ${MAX_KEY_LENGTH} characters` });
  }
  // It would be looked for behind the prefix, and never be found.
  const isFullKey = key.startsWith(prefix) || (head !== '' && key.startsWith(head));
  if (!isFullKey) return key;
  const reason = `keys are given without their prefix, and stand for keys of this tenant only`;
  throw new RuntimeError('TOOL_PERMISSION_DENIED', { tool, reason });
}

function answer(key: string, text: string | null, limitBytes: number): string {
  if (text === null) return JSON.stringify({ key, value: null });
  const parsed = tryParseJson(text);
  const value: JsonValue =
    parsed.ok && (isJsonObject(parsed.value) || Array.isArray(parsed.value)) ? parsed.value : text;
  const json = JSON.stringify({ key, value });
  if (Buffer.byteLength(json) <= limitBytes) return json;
  return fitText(text, limitBytes, (part, isCut) => ({ key, value: part, ...(isCut ? { truncated: true } : {}) }));
}
