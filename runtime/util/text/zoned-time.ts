interface ZonedTime {
  /** `2026-11-27` */
  readonly date: string;
  /** `18:05` */
  readonly time: string;
  /** The English word. */
  readonly weekday: string;
  /** `+01:00` */
  readonly offset: string;
  /** Time zone in use: UTC if the requested one is unknown. */
  readonly timeZone: string;
  readonly isKnown: boolean;
}

const PARTS = {
  hourCycle: 'h23',
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  weekday: 'long',
  timeZoneName: 'longOffset',
} as const satisfies Intl.DateTimeFormatOptions;

/** Returns a moment as clocks in a time zone show it. Default: UTC. */
export function zonedTime(timeZone: string | undefined, moment: Date): ZonedTime {
  const known = formatOf(timeZone ?? 'UTC');
  const format = known ?? new Intl.DateTimeFormat('en-US', { ...PARTS, timeZone: 'UTC' });
  const parts = Object.fromEntries(format.formatToParts(moment).map(({ type, value }) => [type, value]));
  const { year, month, day, hour, minute, weekday = '', timeZoneName = '' } = parts;
  return {
    date: `${year}-${month}-${day}`,
    time: `${hour}:${minute}`,
    weekday,
    offset: timeZoneName.replace('GMT', '') || '+00:00',
    timeZone: format.resolvedOptions().timeZone,
    isKnown: known !== undefined,
  };
}

/** Returns undefined for an unknown time zone. */
function formatOf(timeZone: string): Intl.DateTimeFormat | undefined {
  try {
    return new Intl.DateTimeFormat('en-US', { ...PARTS, timeZone });
  } catch {
    return undefined;
  }
}
