import type { OutputFormat } from '../../contracts/connected';
import type { Agent } from '../../contracts/tenant';
import { RuntimeError } from '../../errors/runtime-error';
import { agentOfTenant } from '../../toolsets/agent-of-tenant';
import type { JsonObject } from '../../util/json';
import type { PlannedRun, RunEnvironment } from '../run';
import { schemaFormat } from './output-format';

/** The agent that a task names, as it is now. Throws what `agentOfTenant` throws. */
export function agentOfNow(
  { agents }: Pick<RunEnvironment, 'agents'>,
  { request, tenant, began }: Pick<PlannedRun, 'request' | 'tenant' | 'began'>,
): Agent | undefined {
  const { agent: name } = request.config;
  const agent = agentOfTenant(name, tenant, agents);
  if (agent !== undefined || began === undefined) return agent;
  // A run that began under an agent does not go on without one.
  throw new RuntimeError('AGENT_NOT_FOUND', { agent: began.name });
}

const formats = new WeakMap<JsonObject, OutputFormat>();

/** The form of an agent's answers. Throws OUTPUT_FORMAT_INVALID. */
export function formatOf(agent: Agent | undefined): OutputFormat | undefined {
  const schema = agent?.outputSchema;
  if (schema === undefined) return undefined;
  const known = formats.get(schema) ?? schemaFormat(schema);
  formats.set(schema, known);
  return known;
}
