import { turn } from '../../util/turn';

const [QUOTE, BACKSLASH, COLON] = Buffer.from('"\\:');
const SPACES: readonly (number | undefined)[] = [...Buffer.from(' \t\r\n')];
/** What each byte adds to the depth. */
const DEPTH = new Int8Array(256);
for (const mark of Buffer.from('{[')) DEPTH[mark] = 1;
for (const mark of Buffer.from('}]')) DEPTH[mark] = -1;
/** The most bytes of a name or a type; longer ones are none that we look for. */
const MAX_BYTES = 1000;
/** Others have their turn after so many bytes. */
const AT_ONCE = 1 << 16;

/** What is known in front of a byte. */
interface Scan {
  at: number;
  depth: number;
  /** Where the text that is open began; -1 outside of texts. */
  openAt: number;
  /** The text that has just ended. */
  text?: { readonly from: number; readonly end: number };
  /** The value that comes is that of `task_type`. */
  isNext: boolean;
  /** Set when it is over. */
  isOver: boolean;
}

/**
 * The `task_type` of a task, found without parsing it: what is read costs no memory, however it is built. Undefined
 * when there is none that is a text. Of text that is no JSON it may tell one all the same.
 */
export async function peekTaskType(json: Buffer): Promise<string | undefined> {
  const scan: Scan = { at: 0, depth: 0, openAt: -1, isNext: false, isOver: false };
  while (scan.at < json.length && !scan.isOver) {
    await turn();
    readOn(json, scan);
  }
  return scan.isOver && scan.text !== undefined ? textOf(json, scan.text) : undefined;
}

function readOn(json: Buffer, scan: Scan): void {
  const end = Math.min(json.length, scan.at + AT_ONCE);
  for (; scan.at < end && !scan.isOver; scan.at++) {
    if (scan.openAt < 0) readMark(json, scan);
    else readText(json, scan);
  }
}

function readText(json: Buffer, scan: Scan): void {
  const byte = json[scan.at];
  if (byte === BACKSLASH) scan.at++;
  if (byte !== QUOTE) return;
  scan.text = { from: scan.openAt, end: scan.at + 1 };
  scan.openAt = -1;
  scan.isOver = scan.isNext;
}

function readMark(json: Buffer, scan: Scan): void {
  const byte = json[scan.at];
  if (SPACES.includes(byte)) return;
  const { text } = scan;
  scan.text = undefined;
  if (byte === QUOTE) {
    scan.openAt = scan.at;
    return;
  }
  // A value that is no text.
  scan.isOver = scan.isNext;
  scan.isNext = byte === COLON && scan.depth === 1 && text !== undefined && textOf(json, text) === 'task_type';
  scan.depth += DEPTH[byte ?? 0] ?? 0;
}

function textOf(json: Buffer, { from, end }: NonNullable<Scan['text']>): string | undefined {
  if (end - from > MAX_BYTES) return undefined;
  try {
    return JSON.parse(json.toString('utf8', from, end)) as string;
  } catch {
    return undefined;
  }
}
