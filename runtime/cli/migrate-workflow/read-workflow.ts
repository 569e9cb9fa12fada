import { RuntimeError } from '../../errors/runtime-error';
import { type JsonValue, tryParseJson } from '../../util/json';

/** Larger than anything that n8n's editor opens. */
const MAX_WORKFLOW_BYTES = 64 * 1024 * 1024;

/** How a JSON file is laid out, so that what is written again looks the same. */
interface JsonLayout {
  /** Empty: all on one line. */
  readonly indent: string;
  readonly newline: '\n' | '\r\n';
  readonly endsWithNewline: boolean;
}

interface WorkflowText {
  readonly value: JsonValue;
  readonly layout: JsonLayout;
}

/** Throws WORKFLOW_UNREADABLE, naming the file. */
export function refuseLarge(file: string, bytes: number): void {
  if (bytes > MAX_WORKFLOW_BYTES) throw unreadable(file, `it has ${bytes} bytes; ${MAX_WORKFLOW_BYTES} is the limit`);
}

/** The text of a file, a byte order mark included. Throws WORKFLOW_UNREADABLE. */
export function decodeWorkflow(file: string, bytes: Uint8Array): string {
  refuseLarge(file, bytes.length);
  if (bytes.length === 0) throw unreadable(file, 'it is empty');
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw unreadable(file, 'it is not UTF-8 text', error);
  }
}

/** The JSON of a file. Throws WORKFLOW_UNREADABLE. */
export function parseWorkflowText(file: string, text: string): WorkflowText {
  const json = text.replace(/^\uFEFF/, '');
  if (json.trim() === '') throw unreadable(file, 'it is empty');
  const parsed = tryParseJson(json, Infinity);
  if (!parsed.ok) throw unreadable(file, `it is not valid JSON: ${parsed.reason}`);
  return { value: parsed.value, layout: layoutOf(json) };
}

export function unreadable(file: string, reason: string, cause?: unknown): RuntimeError {
  return new RuntimeError('WORKFLOW_UNREADABLE', { file, reason }, { cause });
}

function layoutOf(text: string): JsonLayout {
  const [, newline, indent = ''] = /^\s*[[{](\r?\n)([ \t]*)/.exec(text) ?? [];
  return {
    indent,
    newline: newline === '\r\n' ? '\r\n' : '\n',
    endsWithNewline: text.endsWith('\n'),
  };
}

/** JSON in the layout of the file that it came from. */
export function writeJson(value: unknown, { indent, newline, endsWithNewline }: JsonLayout): string {
  const text = JSON.stringify(value, null, indent) + (endsWithNewline ? '\n' : '');
  // Line breaks inside strings are escaped, so that these are those of the layout.
  return newline === '\n' ? text : text.replaceAll('\n', newline);
}
