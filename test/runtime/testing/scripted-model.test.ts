import { RuntimeError } from '../../../runtime';
import { createScriptedModel } from '../../../runtime/testing';
import { describeModel } from '../../contract/model';

describeModel((reply) => {
  if (reply === 'fails') return createScriptedModel([new RuntimeError('LLM_UNAVAILABLE', { reason: 'as asked' })]);
  if ('calls' in reply) return createScriptedModel([reply]);
  const { text, ...usage } = reply;
  return createScriptedModel([{ text, usage }]);
});
