import type { Model, ModelReply, ModelRequest } from '../../runtime';
import { aModelRequest } from '../support/values/model-request';

/** What a model under test is to do in its next call. */
export type GivenReply =
  | { readonly text: string; readonly promptTokens: number; readonly completionTokens: number }
  | { readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: object }[] }
  | 'fails';

const TOOL = { name: 'find_orders', description: 'Finds orders', inputSchema: { type: 'object' } } as const;

const aRequest = (rest: Partial<ModelRequest> = {}): ModelRequest => aModelRequest({ tools: [TOOL], ...rest });

/** Declares what every `Model` has to do. */
export function describeModel(answering: (reply: GivenReply) => Model): void {
  it('answers with text, and says what it used', async () => {
    const model = answering({ text: 'Hello', promptTokens: 12, completionTokens: 3 });
    const reply = await model.generate(aRequest());
    expect(reply).toMatchObject<Partial<ModelReply>>({
      message: { role: 'assistant', content: 'Hello' },
      finishReason: 'stop',
    });
    expect(reply.usage).toMatchObject({ promptTokens: 12, completionTokens: 3, cachedTokens: 0, reasoningTokens: 0 });
  });

  it('asks for tools, in order, with the arguments as text', async () => {
    const calls = [1, 2].map((customer) => ({ id: `c${customer}`, name: TOOL.name, arguments: { customer } }));
    const { message, finishReason } = await answering({ calls }).generate(aRequest());
    expect(finishReason).toBe('tool-calls');
    expect(message.tool_calls).toEqual([
      { id: 'c1', type: 'function', function: { name: 'find_orders', arguments: '{"customer":1}' } },
      { id: 'c2', type: 'function', function: { name: 'find_orders', arguments: '{"customer":2}' } },
    ]);
  });

  it('counts what it sent and what was answered', async () => {
    const request = aRequest();
    await answering({ text: 'Hello', promptTokens: 1, completionTokens: 1 }).generate(request);
    expect(request.attempts).toMatchObject({ sent: 1, answered: 1 });
  });

  it('rejects with a code of models when it fails, and the request still counts', async () => {
    const request = aRequest();
    await expect(answering('fails').generate(request)).rejects.toMatchObject({
      code: expect.stringMatching(/^LLM_/) as string,
    });
    expect(request.attempts.sent).toBe(1);
  });

  it('sends nothing once the run is cancelled', async () => {
    const request = aRequest({ signal: AbortSignal.abort(new Error('cancelled')) });
    const model = answering({ text: 'Hello', promptTokens: 1, completionTokens: 1 });
    await expect(model.generate(request)).rejects.toThrow();
    expect(request.attempts.sent).toBe(0);
  });
}
