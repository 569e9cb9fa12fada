import type { TransportReply } from '../contracts/tools/tool-transport';
import { clipText } from '../util/text/clip-text';
import type { McpContent, McpToolResult } from './connection';

const MAX_LABEL_CHARS = 200;

/** A tool's result as text for the model. */
export function toReply(result: McpToolResult, maxOutputBytes: number): TransportReply {
  const text =
    result.structuredContent === undefined || result.isError === true
      ? (result.content ?? []).map(contentText).join('\n')
      : JSON.stringify(result.structuredContent);
  const reply = { ...clipText(text, maxOutputBytes), isPlainText: true };
  return result.isError === true ? { ...reply, failure: { code: 'TOOL_FAILED' } } : reply;
}

/** Text as it is, JSON of old servers as text, everything else as a placeholder: a model cannot read base64. */
function contentText(part: McpContent): string {
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
function sizeOf(base64: string | undefined): string | undefined {
  return base64 === undefined ? undefined : `${Buffer.byteLength(base64, 'base64')} bytes`;
}
