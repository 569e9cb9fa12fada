import type { Model, ModelReply, ModelRequest, NamedModel } from '../contracts/model';
import { isRuntimeError } from '../errors/runtime-error';

/**
 * Model that asks the next candidate if a call fails with an LLM_ code, unless the run was stopped. If all fail, it rejects
 * with the first failure.
 */
export function withFallback(first: NamedModel, others: readonly NamedModel[]): Model {
  if (others.length === 0) return first.model;
  return {
    generate: (request) =>
      first.model.generate(request).catch(async (failure: unknown) => {
        if (!isRuntimeError(failure) || !failure.code.startsWith('LLM_')) throw failure;
        for (const other of others) {
          // Another answer behind half of one is of no use.
          if (request.attempts.isShown === true || request.signal.aborted) break;
          const reply = await askInstead(other, request);
          if (reply !== undefined) return { ...reply, fallback: { name: other.name, code: failure.code } };
        }
        throw failure;
      }),
  };
}

async function askInstead({ name, model }: NamedModel, request: ModelRequest): Promise<ModelReply | undefined> {
  try {
    return await model.generate({ ...request, modelId: name });
  } catch (error) {
    if (request.signal.aborted) throw error;
    return undefined;
  }
}
