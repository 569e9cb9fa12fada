import type { ModelRequest } from '../../../runtime/contracts/model';

/** A request of one user message, without tools. */
export function aModelRequest(rest: Partial<ModelRequest> = {}): ModelRequest {
  return {
    modelId: 'test/model',
    messages: [{ role: 'user', content: 'Hi' }],
    tools: [],
    toolChoice: 'auto',
    parallelToolCalls: true,
    silenceMs: 10_000,
    signal: new AbortController().signal,
    attempts: { sent: 0, answered: 0 },
    ...rest,
  };
}
