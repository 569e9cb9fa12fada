import { type AgentFixture, eventually } from '../values/agent-fixture';

/** Waits until so many runs are in the queue of a session, given its id or, where the tenant has one only, that of the tenant. */
export function runsInQueue({ database }: AgentFixture, id: string, count: number): Promise<true> {
  return eventually(async () => {
    const [row] = await database.query<{ count: number }>(
      'SELECT cardinality(queue) AS count FROM elo_agent_sessions WHERE $1 IN (session_id, tenant_id::text)',
      [id],
    );
    return row?.count === count ? true : undefined;
  });
}
