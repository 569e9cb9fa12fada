import type { ModelReply, ModelRequest, NamedModel } from '../../../runtime/contracts/model';
import { RuntimeError } from '../../../runtime/errors/runtime-error';
import { withFallback } from '../../../runtime/models/with-fallback';
import { withCode } from '../../support/setup/matchers';
import { aModelRequest } from '../../support/values/model-request';

const REPLY: ModelReply = { message: { role: 'assistant', content: 'Hi' }, finishReason: 'stop' };
const failed = (): never => {
  throw new RuntimeError('LLM_UNAVAILABLE', { model: 'a/first', reason: 'down' });
};

/** Candidates of these behaviours, by number, and who was asked under which id. */
function candidates(...behaviours: readonly ((request: ModelRequest) => ModelReply)[]) {
  const asked: string[] = [];
  const [first, ...others] = behaviours.map((behave, index): NamedModel => {
    const generate = (request: ModelRequest): Promise<ModelReply> => {
      asked.push(`${index}: ${request.modelId}`);
      return new Promise((resolve) => resolve(behave(request)));
    };
    return { name: `a/model-${index}`, model: { generate } };
  });
  return { model: withFallback(first as NamedModel, others), asked };
}

const request = (): ModelRequest => aModelRequest({ modelId: 'a/model-0' });

it('asks one candidate after the other, each under its own id, until one answers', async () => {
  const { model, asked } = candidates(failed, failed, () => REPLY, failed);
  const fallback = { name: 'a/model-2', code: 'LLM_UNAVAILABLE' };
  expect(await model.generate(request())).toEqual({ ...REPLY, fallback });
  expect(asked).toEqual(['0: a/model-0', '1: a/model-1', '2: a/model-2']);
});

it('tells the first failure when all fail', async () => {
  const { model, asked } = candidates(failed, () => {
    throw new RuntimeError('LLM_TIMEOUT', { timeoutSeconds: 1 });
  });
  await expect(model.generate(request())).rejects.toThrow(withCode('LLM_UNAVAILABLE'));
  expect(asked).toHaveLength(2);
});

it.each<[string, (request: ModelRequest) => never]>([
  [
    'of whose answer pieces were shown',
    ({ attempts }) => {
      attempts.isShown = true;
      return failed();
    },
  ],
  [
    'that failed with no code of a model',
    () => {
      throw new Error('a mistake of ours');
    },
  ],
])('asks nobody after one %s', async (_what, behave) => {
  const { model, asked } = candidates(behave, () => REPLY);
  await expect(model.generate(request())).rejects.toThrow();
  expect(asked).toHaveLength(1);
});
