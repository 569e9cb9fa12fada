import type { Tool } from '../contracts/tools/tool';
import type { JsonObject } from '../util/json';

/** Whether a call may be made again whose outcome is unknown. A tool that cannot tell must not be called again. */
export function mayRepeat({ isRepeatable }: Tool, input: JsonObject): boolean {
  if (typeof isRepeatable !== 'function') return isRepeatable === true;
  try {
    return isRepeatable(input);
  } catch {
    return false;
  }
}
