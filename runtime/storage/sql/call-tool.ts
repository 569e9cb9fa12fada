import type { SingleCall } from '../../contracts/ledger/ledger';
import type { Statement } from '../statement';

/** Takes one call off its limits, outside a run. */
export function takeCallStatement({ tenantId, taking }: SingleCall): Statement {
  const { code, tool, callsPerMinute, callsPerDay, ofAgent } = taking;
  return {
    tenantId,
    text: 'SELECT elo_agent_take_call($1::uuid, $2, $3, $4::int, $5::int, $6, $7::int, $8::int) AS reason',
    values: [
      ...[tenantId, code ?? null, tool, callsPerMinute ?? null, callsPerDay ?? null],
      ...[ofAgent?.agent ?? null, ofAgent?.callsPerMinute ?? null, ofAgent?.callsPerDay ?? null],
    ],
  };
}
