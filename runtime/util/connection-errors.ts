/** Codes that say the same where no call of the system is named. */
const NO_CONNECTION = /^(EAI_|ENOTFOUND|ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)/;
const CERTIFICATE = /^(CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|ERR_TLS_CERT_)/;

/** True when the other side's certificate was not trusted, or is another's. */
export function isUntrusted(error: unknown): boolean {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return typeof code === 'string' && CERTIFICATE.test(code);
}

/**
 * True when the name did not resolve, nobody listened, or the two sides did not agree on TLS: not a byte of the request has
 * left. What is not sure counts as sent.
 */
export function wasNeverConnected(error: unknown): boolean {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.every(wasNeverConnected);
  const { code, syscall } = (error ?? {}) as { readonly code?: unknown; readonly syscall?: unknown };
  // A connection that was made fails with some of the same codes, by other calls.
  if (syscall !== undefined) return syscall === 'connect' || syscall === 'getaddrinfo';
  return isUntrusted(error) || (typeof code === 'string' && NO_CONNECTION.test(code));
}
