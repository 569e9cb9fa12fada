import { describeError, RuntimeError } from '../../errors/runtime-error';
import { zonedTime } from '../../util/text/zoned-time';
import type { BuiltinTool } from './builtin-tool';
import { plainTool } from './read-config';

/** Tells the date and the time where the tenant is, or in another time zone. */
export const timeNow: BuiltinTool = {
  description: 'Gets the date and the time of now, in the time zone of the business unless another one is named.',
  inputSchema: {
    type: 'object',
    properties: { time_zone: { type: 'string', description: 'Name of another time zone, such as Europe/Berlin' } },
    additionalProperties: false,
  },
  ...plainTool((tool, { input: { time_zone: given }, timeZone: ofTenant }) => {
    // Models fill fields that they need not.
    const isAsked = typeof given === 'string' && given !== '';
    const zone = isAsked ? given : ofTenant;
    const { date, time, weekday, offset, timeZone, isKnown } = zonedTime(zone, new Date());
    if (isAsked && !isKnown) {
      const issues = 'time_zone must be a name such as Europe/Berlin';
      throw new RuntimeError('TOOL_INVALID_ARGS', { tool, issues });
    }
    const warning = isKnown ? undefined : describeError('TIME_ZONE_UNKNOWN', { zone: zone ?? '' }).message;
    const told = { now: `${date}T${time}${offset}`, weekday, time_zone: timeZone, warning };
    return { text: JSON.stringify(told), isCut: false };
  }),
};
