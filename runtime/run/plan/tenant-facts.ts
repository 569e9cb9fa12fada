import type { TenantSettings } from '../../contracts/tenant';
import { describeError, type ErrorSummary } from '../../errors/runtime-error';
import { zonedTime } from '../../util/text/zoned-time';

interface TenantFacts {
  /** Block for the end of the system prompt. Undefined if the tenant has not set `tell_context`. */
  readonly text?: string;
  readonly warnings: readonly ErrorSummary[];
}

const SHOWN_LENGTH = 60;

/** Returns the date and the tenant's own words for system prompts, if `tell_context` is set. No time: a cached prompt stays valid all day. */
export function factsOf(settings: TenantSettings, now = new Date()): TenantFacts {
  if (settings.tellContext !== true) return { warnings: [] };
  const { language, agentPersonality, workingHours, timeZone: asked } = settings;
  const { date, weekday, timeZone, isKnown } = zonedTime(asked, now);
  const lines: readonly (readonly [string, string | undefined])[] = [
    ['Date', `${date} (${weekday})`],
    ['Time zone', timeZone],
    ['Language', language],
    ['Personality', agentPersonality],
    ['Working hours', workingHours],
  ];
  const told = lines.flatMap(([word, value]) =>
    value === undefined ? [] : `${word}: ${value.replaceAll('<', '&lt;').split(/\s+/).join(' ')}`,
  );
  return {
    text: `<tenant_context>\n${told.join('\n')}\n</tenant_context>`,
    warnings: isKnown ? [] : [describeError('TIME_ZONE_UNKNOWN', { zone: (asked ?? '').slice(0, SHOWN_LENGTH) })],
  };
}
