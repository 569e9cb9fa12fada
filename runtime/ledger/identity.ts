import type { Identity } from '../contracts/ledger/ledger';
import type { CallMeta } from '../contracts/task';

export function identityOf({ client_id, dialog_id, user_id, session_id }: CallMeta): Identity {
  return { clientId: client_id, dialogId: dialog_id, userId: user_id, sessionId: session_id };
}
