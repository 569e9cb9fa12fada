import { randomUUID } from 'node:crypto';

import { createMemoryLedger } from '../../../runtime/testing';
import { describeLedger } from '../../contract/ledger';

describeLedger(() => Promise.resolve({ ledger: createMemoryLedger(), tenantId: randomUUID() }));
