import { isJsonObject, type JsonObject, type JsonValue } from '../../../util/json';
import { CALL_FIELDS, FUNCTION_FIELDS, ownFields } from '../own-fields';
import { createObjectEnd, type ObjectEnd } from './object-end';

/** Tool calls of a stream, under construction. */
export interface MergedCalls {
  readonly all: MergedCall[];
  /** Calls whose arguments are incomplete. */
  readonly open: Set<MergedCall>;
  readonly byIndex: Map<number, MergedCall>;
  readonly byId: Map<string, MergedCall>;
}

interface MergedCall {
  id?: string;
  name?: string;
  /** Arguments so far; undefined if none were sent. */
  text?: string;
  end: ObjectEnd;
  /** Fields of the provider's own, of the call and of its `function`. */
  own: JsonObject;
  ownOfFunction: JsonObject;
}

/** Fields of one piece. */
interface Piece {
  readonly id?: string;
  readonly name?: string;
  readonly index?: number;
  readonly text?: string;
  readonly own: JsonObject;
  readonly ownOfFunction: JsonObject;
}

export function noCalls(): MergedCalls {
  return { all: [], open: new Set(), byIndex: new Map(), byId: new Map() };
}

/**
 * Adds a piece to its call, or begins a call. Returns the number of characters added. Trusts no single field: Ollama
 * and vLLM index every call 0; other servers change the id with each piece, repeat name and id, send indexes as text, or omit
 * all three.
 */
export function mergeCall(calls: MergedCalls, raw: JsonObject): number {
  const piece = readPiece(raw);
  const near = nearest(calls, piece);
  if (near !== undefined && isRepeated(near, piece)) return addOwn(near, piece);
  const isNew = near === undefined || beginsAnother(calls, near, piece);
  const call = isNew ? begin(calls) : continued(calls, near, piece);
  sign(calls, call, piece);
  const added = addOwn(call, piece);
  return piece.text === undefined ? added : added + addArguments(calls, call, piece.text);
}

/** Keeps the provider's own fields, whichever piece carries them. */
function addOwn(call: MergedCall, { own, ownOfFunction }: Piece): number {
  const texts = [own, ownOfFunction].map((fields) => (Object.keys(fields).length === 0 ? '' : JSON.stringify(fields)));
  if (texts[0] !== '') call.own = { ...call.own, ...own };
  if (texts[1] !== '') call.ownOfFunction = { ...call.ownOfFunction, ...ownOfFunction };
  return texts.join('').length;
}

/** Records name, index and id of a piece. A call keeps its first name and id. */
function sign({ byIndex, byId }: MergedCalls, call: MergedCall, { id, name, index }: Piece): void {
  call.name ??= name;
  if (index !== undefined) byIndex.set(index, call);
  if (id === undefined || call.id !== undefined) return;
  call.id = id;
  byId.set(id, call);
}

/** Returns the calls as in an unstreamed reply. */
export function toToolCalls({ all }: MergedCalls): readonly JsonObject[] {
  // Skips calls without name and arguments: some servers add empty pieces with a fresh id.
  return all
    .filter(({ name, text = '' }) => name !== undefined || text.trim() !== '')
    .map(({ id = '', name = '', text, own, ownOfFunction }) => {
      const fn = { ...ownOfFunction, name, ...(text === undefined ? {} : { arguments: text }) };
      return { ...own, id, type: 'function', function: fn };
    });
}

function readPiece(raw: JsonObject): Piece {
  const { index, id } = raw;
  const fn = isJsonObject(raw.function) ? raw.function : {};
  const { name, arguments: given } = fn;
  return {
    own: ownFields(raw, CALL_FIELDS),
    ownOfFunction: ownFields(fn, FUNCTION_FIELDS),
    id: id === 'null' ? undefined : textOf(id),
    name: textOf(name),
    index: indexOf(index),
    text: argumentsText(given),
  };
}

/** Returns undefined for an empty string, which carries no information. */
function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function indexOf(value: JsonValue | undefined): number | undefined {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : undefined;
}

function argumentsText(value: JsonValue | undefined): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Finds the call by index and id, or by either of them; otherwise returns the last call. */
function nearest({ all, byIndex, byId }: MergedCalls, { id, index }: Piece): MergedCall | undefined {
  const placed = index === undefined ? undefined : byIndex.get(index);
  const known = id === undefined ? undefined : byId.get(id);
  if (placed !== undefined && (known === undefined || placed.id === id)) return placed;
  return known ?? all.at(-1);
}

/** Reports a final chunk that repeats a complete call. */
function isRepeated({ id, text, end }: MergedCall, piece: Piece): boolean {
  return end.isReached() && id !== undefined && id === piece.id && text === piece.text;
}

/** Decides whether a piece begins a new call instead of continuing `near`. */
function beginsAnother({ byIndex }: MergedCalls, near: MergedCall, piece: Piece): boolean {
  const { id, name, index } = piece;
  if (differ(near.name, name)) return true;
  const isNewId = differ(near.id, id);
  const isNewIndex = index !== undefined && !byIndex.has(index);
  const isSigned = [isNewId, isNewIndex, name !== undefined].filter(Boolean).length > 1;
  // The first piece of a call may have an empty name.
  if (!hasArguments(piece)) return isSigned || (isNewId && index === undefined);
  // After complete arguments, any identifying field begins a new call.
  if (near.end.isReached()) return isNamed(piece) || isNewIndex;
  // Some servers increment the index with each piece of one call.
  return isSigned && (id === undefined || id !== near.id);
}

function differ(known: string | undefined, given: string | undefined): boolean {
  return known !== undefined && given !== undefined && known !== given;
}

function isNamed({ id, name }: Piece): boolean {
  return id !== undefined || name !== undefined;
}

function hasArguments({ text = '' }: Piece): boolean {
  return text.trim() !== '';
}

function begin(calls: MergedCalls): MergedCall {
  const call = { end: createObjectEnd(), own: {}, ownOfFunction: {} };
  calls.all.push(call);
  calls.open.add(call);
  return call;
}

/** Redirects an anonymous piece to the only open call if the nearest call is complete. */
function continued({ open }: MergedCalls, near: MergedCall, piece: Piece): MergedCall {
  const isNameless = !isNamed(piece) && hasArguments(piece);
  const [only = near] = open;
  return isNameless && near.end.isReached() && open.size === 1 ? only : near;
}

function addArguments({ open }: MergedCalls, call: MergedCall, text: string): number {
  // An empty object can be a placeholder for arguments that follow.
  if (call.end.isReached() && call.text?.trim() === '{}' && text.trimStart().startsWith('{')) {
    call.text = '';
    call.end = createObjectEnd();
    open.add(call);
  }
  call.text = (call.text ?? '') + text;
  call.end.feed(text);
  if (call.end.isReached()) open.delete(call);
  return text.length;
}
