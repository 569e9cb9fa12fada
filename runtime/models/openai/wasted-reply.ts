import type { ModelRequest, ReplyUsage, RequestAttempts } from '../../contracts/model';
import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json';
import { readReplyUsage } from './normalize-reply';

/** The model call that a request is one of. */
export interface OwnCall extends Partial<Pick<ModelRequest, 'signal' | 'silenceMs' | 'onDelta'>> {
  readonly attempts: RequestAttempts;
  readonly modelId: string;
}

/** Keeps what a reply has used that is no answer, or what was written in it; false when it holds neither. */
export function noteWasted(body: JsonValue | undefined, call: OwnCall): boolean {
  return isJsonObject(body) && note(readReplyUsage(body), call);
}

/** Keeps what a refusal reports to have used, if anything: its words were not generated. */
export function noteRefused(body: JsonValue | undefined, call: OwnCall): boolean {
  return isJsonObject(body) && note({ ...readReplyUsage(body), written: undefined }, call);
}

/** Keeps what a reply has used that broke off. */
export function noteCut(body: JsonObject, call: OwnCall): void {
  if (noteWasted(body, call) && !isLost(body)) call.attempts.answered++;
}

/** Reports a reply that broke off with usage that may not be all, or without any word that could be counted. */
export function isLost(body: JsonObject): boolean {
  const { usage, written = '' } = readReplyUsage(body);
  return usage !== undefined || written === '';
}

function note(used: ReplyUsage, { attempts, modelId }: OwnCall): boolean {
  const { usage, providerCostUsd, written = '' } = used;
  if (usage === undefined && providerCostUsd === undefined && written === '') return false;
  (attempts.wasted ??= []).push({ ...used, modelId });
  return true;
}
