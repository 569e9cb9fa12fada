import tables from './migrations/0001-tables.sql';
import ledger from './migrations/0002-ledger.sql';
import mcp from './migrations/0003-mcp.sql';
import permissions from './migrations/0004-permissions.sql';
import vault from './migrations/0005-vault.sql';
import transports from './migrations/0006-transports.sql';
import rowLevelSecurity from './migrations/0007-row-level-security.sql';
import journal from './migrations/0008-journal.sql';
import prices from './migrations/0010-prices.sql';
import costBasis from './migrations/0012-cost-basis.sql';
import runRates from './migrations/0013-run-rates.sql';
import runIdentity from './migrations/0014-run-identity.sql';
import modelSilence from './migrations/0015-model-silence.sql';
import usageEstimated from './migrations/0016-usage-estimated.sql';
import unbilledUsage from './migrations/0017-unbilled-usage.sql';
import ids from './migrations/0018-ids.sql';
import decisions from './migrations/0019-decisions.sql';
import resets from './migrations/0020-resets.sql';
import agents from './migrations/0021-agents.sql';
import effects from './migrations/0022-effects.sql';
import skills from './migrations/0023-skills.sql';

/** All migrations in the order in which they are applied. A migration that was published is never changed. */
export const MIGRATIONS: readonly { readonly name: string; readonly sql: string }[] = [
  { name: '0001-tables', sql: tables },
  { name: '0002-ledger', sql: ledger },
  { name: '0003-mcp', sql: mcp },
  { name: '0004-permissions', sql: permissions },
  { name: '0005-vault', sql: vault },
  { name: '0006-transports', sql: transports },
  { name: '0007-row-level-security', sql: rowLevelSecurity },
  { name: '0008-journal', sql: journal },
  { name: '0010-prices', sql: prices },
  { name: '0012-cost-basis', sql: costBasis },
  { name: '0013-run-rates', sql: runRates },
  { name: '0014-run-identity', sql: runIdentity },
  { name: '0015-model-silence', sql: modelSilence },
  { name: '0016-usage-estimated', sql: usageEstimated },
  { name: '0017-unbilled-usage', sql: unbilledUsage },
  { name: '0018-ids', sql: ids },
  { name: '0019-decisions', sql: decisions },
  { name: '0020-resets', sql: resets },
  { name: '0021-agents', sql: agents },
  { name: '0022-effects', sql: effects },
  { name: '0023-skills', sql: skills },
];
