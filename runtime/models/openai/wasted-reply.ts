import type { ModelRequest, RequestAttempts } from '../../contracts/model';
import { isJsonObject, type JsonValue } from '../../util/json';
import { readReplyUsage } from './normalize-reply';

/** The model call that a request is one of. */
export interface OwnCall extends Partial<Pick<ModelRequest, 'signal' | 'silenceMs' | 'onDelta'>> {
  readonly attempts: RequestAttempts;
  readonly modelId: string;
}

/** Keeps what a reply has used that is no answer; false when it does not say so. */
export function noteWasted(body: JsonValue | undefined, { attempts, modelId }: OwnCall): boolean {
  if (!isJsonObject(body)) return false;
  const used = readReplyUsage(body);
  if (used.usage === undefined && used.providerCostUsd === undefined) return false;
  (attempts.wasted ??= []).push({ ...used, modelId });
  return true;
}
