/** Scanner for the end of a JSON object that arrives in pieces. */
export interface ObjectEnd {
  readonly feed: (text: string) => void;
  /** Reports whether the object is closed. */
  readonly isReached: () => boolean;
}

const [QUOTE, BACKSLASH, OPEN, CLOSE] = [0x22, 0x5c, 0x7b, 0x7d];

export function createObjectEnd(): ObjectEnd {
  let depth = 0;
  let isReached = false;
  let isInString = false;
  let isEscaped = false;
  const look = (mark: number): void => {
    if (isEscaped) isEscaped = false;
    else if (mark === QUOTE) isInString = !isInString;
    else if (isInString) isEscaped = mark === BACKSLASH;
    else if (mark === OPEN) depth++;
    else if (mark === CLOSE) isReached ||= --depth === 0;
  };
  return {
    feed: (text) => {
      for (let at = 0; at < text.length && !isReached; at++) look(text.charCodeAt(at));
    },
    isReached: () => isReached,
  };
}
