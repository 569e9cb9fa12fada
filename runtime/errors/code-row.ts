/** Who has to act: the caller, the tenant's operator, a service upstream, or us. */
export type ErrorCategory = 'caller' | 'tenant' | 'upstream' | 'internal';

/**
 * What fails. `task`: this one. `tenant`: every task of the tenant alike, for a while. `attempt`: this attempt only, since another one does the task, and answers it.
 * `installation`: every task alike, until somebody mends a service that all of them need.
 */
export type ErrorScope = 'task' | 'tenant' | 'attempt' | 'installation';

export type ErrorKind = 'error' | 'tool' | 'warning';

export interface CodeRow {
  readonly category: ErrorCategory;
  /** True when the same request may succeed later without a change by anybody. */
  readonly retryable: boolean;
  /** What happened; `{name}` is filled from the error's details. */
  readonly message: string;
  /** What to do about it. */
  readonly hint: string;
  /** Default `task`. */
  readonly scope?: ErrorScope;
  /** How it is seen. Default `error`: the task, the command or the request fails. `tool`: the model is told, and the run goes on; `warning`: the caller is. */
  readonly kind?: ErrorKind;
}

const row =
  (category: ErrorCategory, retryable: boolean) =>
  (message: string, hint: string): CodeRow => ({ category, retryable, message, hint });

export const caller = row('caller', false);
export const callerLater = row('caller', true);
export const tenant = row('tenant', false);
export const upstream = row('upstream', false);
export const upstreamLater = row('upstream', true);
export const internal = row('internal', false);

export const ofAttempt = (given: CodeRow): CodeRow => ({ ...given, scope: 'attempt' });
export const ofTenant = (given: CodeRow): CodeRow => ({ ...given, scope: 'tenant' });
export const ofInstallation = (given: CodeRow): CodeRow => ({ ...given, scope: 'installation' });
export const warning = (given: CodeRow): CodeRow => ({ ...given, kind: 'warning' });
export const toModel = (given: CodeRow): CodeRow => ({ ...given, kind: 'tool' });

/** Codes that belong together, under the name that the documentation has for them. */
export function family<const Code extends string>(
  name: string,
  rows: Readonly<Record<Code, CodeRow>>,
): Readonly<Record<Code, CodeRow & { readonly family: string }>> {
  const named = Object.entries<CodeRow>(rows).map(([code, given]) => [code, { ...given, family: name }]);
  return Object.fromEntries(named) as Record<Code, CodeRow & { readonly family: string }>;
}
