import { randomUUID } from 'node:crypto';

import { createMemoryLedger } from '../../../runtime/testing';
import { describeLedger } from '../../contract/ledger';
import { describeSessions } from '../../contract/sessions';

describeLedger(() => Promise.resolve({ ledger: createMemoryLedger(), tenantId: randomUUID() }));
describe('conversations', () =>
  describeSessions(() => Promise.resolve({ ledger: createMemoryLedger(), tenantId: randomUUID() })));
