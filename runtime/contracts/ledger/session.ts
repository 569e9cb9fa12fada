import type { Message } from '../message';

/** A conversation of a tenant with an agent. */
export interface SessionKey {
  readonly tenantId: string;
  /** The name of the agent; empty for runs without one. */
  readonly agent: string;
  readonly sessionId: string;
}

/** A message of a conversation, with the tokens that it takes of a window. */
export interface SessionMessage {
  readonly message: Exclude<Message, { role: 'system' }>;
  readonly tokens: number;
}

/** The question, the steps with tools and the answer of one run. */
export interface SessionTurn {
  /** Counted from 1, also over turns that are forgotten. */
  readonly turn: number;
  readonly messages: readonly SessionMessage[];
}

export interface SessionSummary {
  readonly text: string;
  readonly tokens: number;
  /** The last turn that it stands for. */
  readonly turn: number;
}

/** The part of a window that a result of a tool takes once it was removed. */
export const CLEARED_TOKENS = 20;
/** The part of a conversation that may stand in a window. */
export interface SessionRecord {
  readonly summary?: SessionSummary;
  /** Turns after the summary, oldest first. */
  readonly turns: readonly SessionTurn[];
}

/** The turn of a run, as it is written with the end of the run. */
export interface NewTurn extends Omit<SessionKey, 'tenantId'> {
  readonly messages: readonly SessionMessage[];
  /** Usage of the run. */
  readonly tokens: number;
  /** US dollars, as decimal text. */
  readonly costUsd: string;
}

/** Conversations: an append-only record. A turn is added with the end of its run, by `LedgerStore.record`. Rejects with a DB_ code. */
export interface SessionStore {
  /**
   * Puts a run that was claimed in the queue of the session. Resolves with true if no run before it is at work; it then has the session
   * until it ends, waits for a person, or is lost.
   */
  readonly hold: (session: SessionKey, runId: string) => Promise<boolean>;
  /**
   * Turns for a window of so many tokens, none of them older than so many days: the last one, and newer ones first until they are several
   * windows. Texts that cannot stand in the window may be cut; `tokens` are those of the whole.
   */
  readonly load: (
    session: SessionKey,
    limits: { readonly windowTokens: number; readonly days: number },
  ) => Promise<SessionRecord>;
  readonly addSummary: (
    session: SessionKey,
    run: { readonly taskId: string; readonly runId: string },
    summary: SessionSummary,
  ) => Promise<void>;
}

/** Characters of a text that does not fit, for a summary, and the tokens that it counts at most while a record is read. */
export const CUT_CHARACTERS = 8000;
export const CUT_TOKENS = 2000;

/** Tokens that are read of a record for a window, counted as below: many windows, and enough where a window was made smaller. */
export function tokensToRead(windowTokens: number): number {
  return Math.max(100_000, windowTokens * 8);
}

/** Tokens of a message while a record is read: what does not fit comes cut. load-session.ts counts the same. */
export function tokensOnceCut({ message, tokens }: SessionMessage): number {
  return Math.min(tokens, message.role === 'tool' ? CLEARED_TOKENS : CUT_TOKENS);
}
