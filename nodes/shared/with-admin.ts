import type { ILoadOptionsFunctions } from 'n8n-workflow';

import type * as RuntimeLibrary from '../../runtime/host';
import { readDatabase } from './database';
import { toNodeError } from './errors';

/**
 * Lends a runtime for as long as a list of the panel takes: it must not keep connections while the editor is open. Throws what
 * toListError gives.
 */
export async function withAdmin<T>(
  context: ILoadOptionsFunctions,
  work: (runtime: RuntimeLibrary.Runtime) => Promise<T>,
): Promise<T> {
  const library: typeof RuntimeLibrary = await import('../../runtime/host');
  const database = readDatabase(library, await context.getCredentials('postgres'));
  const runtime = library.createRuntime({ database, model: {} });
  try {
    return await work(runtime);
  } catch (error) {
    throw toListError(context, error);
  } finally {
    await runtime.close();
  }
}

/** The error of a list: the panel shows its message and nothing else, so the hint stands in it. */
export function toListError(context: ILoadOptionsFunctions, error: unknown): Error {
  const nodeError = toNodeError(context.getNode(), error);
  nodeError.message = `${nodeError.message} ${nodeError.description ?? ''}`;
  return nodeError;
}
