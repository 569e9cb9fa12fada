import type { SessionEntry, SessionMessageEntry } from '../../storage/sql/sessions/manage-sessions';

interface Named {
  readonly tenantId: string;
  readonly sessionId: string;
  /** Default: the session of runs without an agent. */
  readonly agent?: string;
}

/** A session and a page of its messages. */
export interface SessionDetails extends SessionEntry {
  /** The oldest first; a summary stands where it was made. */
  readonly messages: readonly SessionMessageEntry[];
  readonly next: string | null;
}

/**
 * Conversations of a tenant. Every method rejects with ADMIN_INPUT_INVALID, TENANT_NOT_FOUND, SESSION_NOT_FOUND or a DB_ code; then nothing
 * has changed.
 *
 * @example
 * await runtime.admin.session.delete({ tenantId, sessionId: 'chat-7', agent: 'support' });
 */
export interface SessionAdmin {
  /** Sessions, the last used one first. */
  readonly list: (query: {
    readonly tenantId: string;
    /** Only the sessions of this agent. */
    readonly agent?: string;
    readonly limit?: number;
    readonly after?: string;
  }) => Promise<{ readonly sessions: readonly SessionEntry[]; readonly next: string | null }>;
  readonly get: (query: Named & { readonly limit?: number; readonly after?: string }) => Promise<SessionDetails>;
  /** JSON Lines, one message each; at most 50,000 and 50 MB, or it rejects with SESSIONS_TOO_LONG. */
  readonly export: (query: {
    readonly tenantId: string;
    /** Only sessions of this ID, of whichever agent. */
    readonly sessionId?: string;
    readonly agent?: string;
  }) => Promise<{ readonly file_name: string; readonly mime_type: string; readonly text: string }>;
  /** Deletes a session with all that was said. A run that is at work still adds its turn, to a new one. */
  readonly delete: (session: Named) => Promise<{
    readonly tenant_id: string;
    readonly session_id: string;
    readonly agent: string;
    readonly deleted: true;
  }>;
}
