import '../../../support/setup/errors-of-node';

import { type ClosableModel, createOpenAiModel } from '../../../../runtime/models/openai/openai-model';
import { describeModel } from '../../../contract/model';
import { type ModelServer, startModelServer, textReply, toolReply } from '../../../support/servers/model-server';

let server: ModelServer;
let model: ClosableModel;

beforeEach(async () => {
  server = await startModelServer();
  model = createOpenAiModel({ apiKey: 'k', baseUrl: server.url, maxRetries: 0 });
});
afterEach(async () => {
  await model.close();
  await server.close();
});

describeModel((reply) => {
  if (reply === 'fails') server.script({ status: 503, body: { error: { message: 'busy' } } });
  else if ('calls' in reply) server.script(toolReply(reply.calls));
  else server.script(textReply(reply.text, { prompt: reply.promptTokens, completion: reply.completionTokens }));
  return model;
});
