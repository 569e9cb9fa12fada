import type { ToolOutput } from '../contracts/tool';
import { canonicalJson, type JsonObject } from '../util/json';

/** Whether a call may be made once more. */
export type Repetition =
  | { readonly kind: 'run' }
  /** The same call gave the same answer often enough: this is it. */
  | { readonly kind: 'repeated'; readonly earlier: Promise<ToolOutput>; readonly count: number }
  /** And it was told so before. */
  | { readonly kind: 'stop' };

/** Notices calls that are made again with the same arguments and give the same answer. */
export interface RepeatedCalls {
  readonly look: (tool: string, input: JsonObject) => Repetition;
  readonly note: (tool: string, input: JsonObject, output: Promise<ToolOutput>) => void;
}

interface Seen {
  runs: number;
  wasTold: boolean;
  latest: Promise<ToolOutput>;
}

/** The call number `limit` with the same answer is not made. Calls that fail have a limit of their own, and are not counted. */
export function createRepeatedCalls(limit: number): RepeatedCalls {
  const seen = new Map<string, Seen>();
  const keyOf = (tool: string, input: JsonObject): string => `${tool} ${canonicalJson(input)}`;
  return {
    look: (tool, input) => {
      const known = seen.get(keyOf(tool, input));
      if (known === undefined || known.runs < limit - 1) return { kind: 'run' };
      if (known.wasTold) return { kind: 'stop' };
      known.wasTold = true;
      return { kind: 'repeated', earlier: known.latest, count: known.runs };
    },
    note: (tool, input, output) => {
      const key = keyOf(tool, input);
      const before = seen.get(key);
      const now: Seen = { runs: (before?.runs ?? 0) + 1, wasTold: false, latest: output };
      seen.set(key, now);
      void compare(before?.latest, output).then((isSame) => {
        if (!isSame && seen.get(key) === now) seen.set(key, { ...now, runs: 1 });
      });
    },
  };
}

async function compare(before: Promise<ToolOutput> | undefined, now: Promise<ToolOutput>): Promise<boolean> {
  try {
    const output = await now;
    if (output.isError) return false;
    return before === undefined || canonicalJson((await before).value) === canonicalJson(output.value);
  } catch {
    return false;
  }
}
