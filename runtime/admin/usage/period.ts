import * as z from 'zod/v4';

import type { UsagePeriod } from '../contract/usage';
import { tenantIdField } from '../read-input';

/** The input that chooses lines of the bill. */
export const period = {
  tenantId: tenantIdField.optional(),
  from: z.iso.date().optional().meta({
    group: 'filters',
    placeholder: "{{ $now.startOf('month').toISODate() }}",
    description: 'The first day, as YYYY-MM-DD in UTC',
  }),
  until: z.iso.date().optional().meta({
    group: 'filters',
    placeholder: '{{ $now.toISODate() }}',
    description: 'The day after the last one, as YYYY-MM-DD in UTC',
  }),
};

/** The name of a file of such lines, without what stands behind its dot. */
export function fileName({ from, until }: UsagePeriod): string {
  return ['usage', from, until].filter((part) => part !== undefined).join('-');
}
