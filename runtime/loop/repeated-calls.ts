import type { StepRecord } from '../contracts/ledger/journal';
import type { Tool } from '../contracts/tools/tool';
import type { ToolOutput } from '../contracts/tools/tool-shapes';
import { canonicalJson, isJsonObject, type JsonObject } from '../util/json';

/** The same call gave the same answer often enough: this is it. */
export interface Repeated {
  readonly kind: 'repeated';
  readonly earlier: Promise<ToolOutput>;
  readonly count: number;
}

/** What it gave, which a plugin may have made of anything. */
export interface Made {
  readonly kind: 'made';
  readonly output: ToolOutput;
}

/** Whether a call may be made once more. */
type Repetition =
  | { readonly kind: 'run' }
  | Repeated
  /** And it was told so before. */
  | { readonly kind: 'stop' };

/** Notices calls that are made again with the same arguments and give the same answer. */
export interface RepeatedCalls {
  /** Looks at the calls of a step before any of them is made. */
  readonly look: (tool: string, input: JsonObject) => Repetition;
  /** Makes the call, unless its likes in the same step have just given the same answer. */
  readonly make: (
    tool: string,
    input: JsonObject,
    execute: () => Promise<ToolOutput>,
  ) => Promise<{ readonly kind: 'made'; readonly output: ToolOutput } | Repeated>;
  /** The call has given no answer after all. */
  readonly forget: (tool: string, input: JsonObject) => void;
}

interface Seen {
  readonly runs: number;
  wasTold: boolean;
  readonly latest: Promise<ToolOutput>;
  /** Resolves when it is known whether the latest answer is that of the one before. */
  readonly compared: Promise<void>;
}

/**
 * Refuses a call once it has been made `limit - 1` times with the same answer. Failed calls have a limit of their own and do
 * not count, nor do calls that choose the next tools: the same skill may be loaded again after another one.
 * `before` are the steps of earlier runs.
 */
export function createRepeatedCalls(limit: number, before: readonly StepRecord[] = []): RepeatedCalls {
  const seen = recall(before);
  const usedUp = (key: string): Seen | undefined => {
    const known = seen.get(key);
    return known === undefined || known.runs < limit - 1 ? undefined : known;
  };
  const note = (key: string, latest: Promise<ToolOutput>): void => {
    const before = seen.get(key);
    const compared = compare(before?.latest, latest).then((isSame) => {
      if (!isSame && seen.get(key) === now) seen.set(key, { ...now, runs: 1 });
    });
    const now: Seen = { runs: (before?.runs ?? 0) + 1, wasTold: false, latest, compared };
    seen.set(key, now);
  };
  return {
    look: (tool, input) => {
      const known = usedUp(keyOf(tool, input));
      if (known === undefined) return { kind: 'run' };
      if (known.wasTold) return { kind: 'stop' };
      known.wasTold = true;
      return { kind: 'repeated', earlier: known.latest, count: known.runs };
    },
    make: async (tool, input, execute) => {
      const key = keyOf(tool, input);
      // What comes up to the first wait is not interrupted, so that no call of the step slips past another.
      for (let known = usedUp(key); known !== undefined; known = usedUp(key)) {
        await known.compared;
        if (seen.get(key) === known) return { kind: 'repeated', earlier: known.latest, count: known.runs };
      }
      const output = execute();
      note(key, output);
      return { kind: 'made', output: await output };
    },
    forget: (tool, input) => void seen.delete(keyOf(tool, input)),
  };
}

const keyOf = (tool: string, input: JsonObject): string => `${tool} ${canonicalJson(input)}`;

/** What the calls of these steps would have left here. */
function recall(steps: readonly StepRecord[]): Map<string, Seen> {
  const seen = new Map<string, Seen>();
  const values = new Map<string, string>();
  for (const { tool, arguments: input, outcome } of steps.flatMap(({ toolCalls }) => toolCalls)) {
    if (!isJsonObject(input) || outcome === undefined) continue;
    const { isError, code, value: result, nextTools } = outcome;
    const key = keyOf(tool, input);
    const known = seen.get(key);
    if (code === 'TOOL_REPEATED') {
      if (known !== undefined) known.wasTold = true;
    } else if (isError || nextTools !== undefined) {
      seen.delete(key);
    } else {
      const value = canonicalJson(result);
      const runs = known !== undefined && values.get(key) === value ? known.runs + 1 : 1;
      values.set(key, value);
      const latest = Promise.resolve({ isError: false, value: result });
      seen.set(key, { runs, wasTold: false, latest, compared: Promise.resolve() });
    }
  }
  return seen;
}

async function compare(before: Promise<ToolOutput> | undefined, now: Promise<ToolOutput>): Promise<boolean> {
  try {
    const output = await now;
    if (output.isError || output.nextTools !== undefined) return false;
    return before === undefined || canonicalJson((await before).value) === canonicalJson(output.value);
  } catch {
    return false;
  }
}

/** Whether a call may be made again whose outcome is unknown. A tool that cannot tell must not be called again. */
export function mayRepeat({ isRepeatable }: Tool, input: JsonObject): boolean {
  if (typeof isRepeatable !== 'function') return isRepeatable === true;
  try {
    return isRepeatable(input);
  } catch {
    return false;
  }
}
