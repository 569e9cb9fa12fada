import { describeError } from '../../errors/runtime-error';
import { strictObject } from '../../util/known-keys';
import type { HealthSummary } from '../contract/diagnostics';
import { operation } from '../operation';
import { tenantIdField } from '../read-input';
import type { ComponentHealth } from './component';
import { lookAtAll } from './look-at-all';

export const summarizeHealth = operation({
  name: 'diagnostics.summary',
  title: 'Summary',
  action: 'Get a summary of the installation',
  description: 'HEALTHY, DEGRADED or CRITICAL, with what failed and what to do',
  needs: ['provider', 'redis', 'vault'],
  input: strictObject({ tenantId: tenantIdField.optional() }),
  run: async (ports, { tenantId }, host) => summarize(await lookAtAll(ports, tenantId, host)),
  isGood: ({ overall_status: status }) => status === 'HEALTHY',
});

/** Nothing runs without these. */
const VITAL = ['database', 'schema', 'model provider'];

function summarize(components: readonly ComponentHealth[]): HealthSummary {
  const failed = components.filter(({ state }) => state === 'down' || state === 'degraded');
  const isCritical = failed.some(({ component, state }) => state === 'down' && VITAL.includes(component));
  return {
    overall_status: isCritical ? 'CRITICAL' : failed.length > 0 ? 'DEGRADED' : 'HEALTHY',
    components,
    failed_components: failed.map(({ component, problems }) => ({
      component,
      code: problems[0]?.code ?? describeError('INTERNAL_ERROR').code,
    })),
    recommended_actions: [...new Set(failed.flatMap(({ problems }) => problems.map(({ hint }) => hint)))],
  };
}
