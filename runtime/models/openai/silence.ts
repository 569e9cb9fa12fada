/** Error `type` of a shown reply that broke off because the provider fell silent. */
export const SILENCE = 'model_silence';

/** Reports undici's error for a server that sent nothing for too long. */
export function isSilence(error: unknown): boolean {
  return SILENT.has((error as { readonly code?: unknown }).code);
}

const SILENT: ReadonlySet<unknown> = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']);

/** Replaces undici's connect time-out, since the openai client reads any message about a time-out as a silent server. */
export function withoutTimeout(error: unknown): unknown {
  const isOfConnecting = (error as { readonly code?: unknown }).code === 'UND_ERR_CONNECT_TIMEOUT';
  return isOfConnecting ? new Error('it could not be connected to in time') : error;
}
