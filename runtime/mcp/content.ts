import type { TransportReply } from '../contracts/tools/tool-transport';
import { canonicalJson, isJsonObject, tryParseJson } from '../util/json';
import { clipText } from '../util/text/clip-text';

export interface McpToolResult {
  readonly content?: readonly McpContent[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
}

export interface McpContent {
  readonly type: string;
  readonly text?: string;
  readonly json?: unknown;
  readonly data?: string;
  readonly mimeType?: string;
  readonly uri?: string;
  readonly name?: string;
  readonly resource?: {
    readonly uri?: string;
    readonly mimeType?: string;
    readonly text?: string;
    readonly blob?: string;
  };
}

const MAX_LABEL_CHARS = 200;

/** A tool's result as text for the model. */
export function toReply(result: McpToolResult, maxOutputBytes: number): TransportReply {
  const text = textOf(result);
  const reply = { ...clipText(text, maxOutputBytes), isPlainText: true };
  return result.isError === true ? { ...reply, failure: { code: 'TOOL_FAILED' } } : reply;
}

/** The parts of the content, then the structured content, once if they say the same. */
function textOf({ content = [], structuredContent: structured }: McpToolResult): string {
  if (structured === undefined || (content.length > 0 && isEmpty(structured)))
    return content.map(contentText).join('\n');
  const json = JSON.stringify(structured);
  const isRepeated = repeats(structured, json);
  const others = content.filter(({ type, text }) => type !== 'text' || text === undefined || !isRepeated(text));
  return [...others.map(contentText), json].join('\n');
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

/** Size limit of the texts that are parsed for the comparison. */
const MAX_COMPARED_CHARS = 256 * 1024;

/**
 * Returns a test for texts that say the same as the structured content; `{"result": …}` is what FastMCP makes of a value
 * that is no object.
 */
function repeats(structured: unknown, json: string): (text: string) => boolean {
  const isWrapped = isJsonObject(structured) && Object.keys(structured).join() === 'result';
  const values: readonly unknown[] = isWrapped ? [structured, structured.result] : [structured];
  let forms: readonly string[] | undefined;
  return (text) => {
    if (text === json || values.includes(text)) return true;
    if (Math.max(text.length, json.length) > MAX_COMPARED_CHARS) return false;
    const parsed = tryParseJson(text);
    forms ??= values.map(canonicalJson);
    return parsed.ok && forms.includes(canonicalJson(parsed.value));
  };
}

/** Text as it is, JSON of old servers as text, everything else as a placeholder: a model cannot read base64. */
export function contentText(part: McpContent): string {
  if (typeof part.text === 'string') return part.text;
  if (part.json !== undefined) return JSON.stringify(part.json);
  if (part.type === 'resource_link') return placeholder([part.type, part.name, part.uri, part.mimeType]);
  const { resource } = part;
  if (resource !== undefined) {
    const label = placeholder([part.type, resource.uri, resource.mimeType, sizeOf(resource.blob)]);
    return resource.text === undefined ? label : `${label}\n${resource.text}`;
  }
  return placeholder([part.type, part.mimeType, sizeOf(part.data)]);
}

function placeholder(parts: readonly (string | undefined)[]): string {
  const known = parts.filter((part) => typeof part === 'string' && part !== '') as string[];
  return `[${known.map((part) => part.slice(0, MAX_LABEL_CHARS)).join(' ')}]`;
}

/** How large the data behind a placeholder is, so that the model can judge it. */
function sizeOf(base64: unknown): string | undefined {
  return typeof base64 !== 'string' ? undefined : `${Buffer.byteLength(base64, 'base64')} bytes`;
}
