import type { JsonValue } from '../../util/json';
import { clipText } from '../../util/text/clip-text';

/** So much of the room is aimed for when a text has to be cut again: escapes take more than was expected. */
const MARGIN = 0.95;

/** JSON around a text that is cut until all of it fits; `build` is told whether it was. */
export function fitText(text: string, limitBytes: number, build: (text: string, isCut: boolean) => JsonValue): string {
  let json = JSON.stringify(build(text, false));
  let kept = text;
  for (let size = Buffer.byteLength(json); size > limitBytes && kept !== ''; size = Buffer.byteLength(json)) {
    const room = Math.floor(Buffer.byteLength(kept) * (limitBytes / size) * MARGIN);
    kept = clipText(kept, room).text;
    json = JSON.stringify(build(kept, true));
  }
  return json;
}

/** JSON around a list of which the end is left out until all of it fits. */
export function fitList<T>(
  items: readonly T[],
  limitBytes: number,
  build: (items: readonly T[], isCut: boolean) => JsonValue,
): string {
  let kept = items;
  let json = JSON.stringify(build(kept, false));
  while (Buffer.byteLength(json) > limitBytes && kept.length > 0) {
    kept = kept.slice(0, Math.floor(kept.length * Math.min(MARGIN, limitBytes / Buffer.byteLength(json))));
    json = JSON.stringify(build(kept, true));
  }
  return json;
}
