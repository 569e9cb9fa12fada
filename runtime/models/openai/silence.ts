/** `type` of the error in place of a reply that broke off since nothing more came. */
export const SILENCE = 'model_silence';

/** Reports undici's error for a server that sent nothing for too long. */
export function isSilence(error: unknown): boolean {
  return SILENT.has((error as { readonly code?: unknown }).code);
}

const SILENT: ReadonlySet<unknown> = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']);

/** The openai client takes any error that speaks of a time-out for the silence of a server that is there. */
export function withoutTimeout(error: unknown): unknown {
  const isOfConnecting = (error as { readonly code?: unknown }).code === 'UND_ERR_CONNECT_TIMEOUT';
  return isOfConnecting ? new Error('it could not be connected to in time') : error;
}
