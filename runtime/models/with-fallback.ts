import type { NamedModel } from '../contracts/connected';
import type { Model, ModelReply, ModelRequest } from '../contracts/model';
import { isRuntimeError } from '../errors/runtime-error';

/**
 * A model whose calls are answered by the fallback when they fail with an LLM_ code, unless the run was stopped. When both
 * fail, the first failure is the one that is told.
 */
export function withFallback(model: Model, fallback: NamedModel): Model {
  return {
    generate: (request) =>
      model.generate(request).catch(async (failure: unknown) => {
        // Another answer behind half of one is of no use.
        if (request.attempts.isShown === true) throw failure;
        if (request.signal.aborted || !isRuntimeError(failure) || !failure.code.startsWith('LLM_')) throw failure;
        const reply = await askInstead(fallback, request);
        if (reply === undefined) throw failure;
        return { ...reply, fallback: { name: fallback.name, code: failure.code } };
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
