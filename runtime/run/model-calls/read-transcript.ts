import * as z from 'zod/v4';

import type { Message } from '../../contracts/message';
import { describeIssues } from '../../errors/describe-issues';
import { RuntimeError } from '../../errors/runtime-error';

const content = z.union([z.string(), z.array(z.object({ type: z.literal('text'), text: z.string() }))], {
  error: 'must be a text or parts of text: images and other files are not sent to the models of tenants',
});
const call = z.object({
  id: z.string(),
  type: z.literal('function').default('function'),
  function: z.object({ name: z.string(), arguments: z.string() }),
});
const message = z.discriminatedUnion('role', [
  z.object({ role: z.enum(['system', 'developer', 'user']), content }),
  z.object({ role: z.literal('assistant'), content: content.nullish(), tool_calls: z.array(call).nullish() }),
  z.object({ role: z.literal('tool'), content, tool_call_id: z.string() }),
]);

/** Messages in the shape of the OpenAI chat API. Throws INPUT_INVALID, which names the first message that is none, and the field. */
export function readTranscript(given: unknown): readonly Message[] {
  if (!Array.isArray(given) || given.length === 0) {
    throw new RuntimeError('INPUT_INVALID', { issues: 'messages must be a list with at least one' });
  }
  return given.map((one: unknown, index): Message => {
    const { data, error } = message.safeParse(one);
    if (error === undefined) return toMessage(data);
    const place = `messages.${index}`;
    throw new RuntimeError('INPUT_INVALID', { issues: `${place}: ${describeIssues(error, 'the message')}` });
  });
}

function toMessage(read: z.output<typeof message>): Message {
  if (read.role === 'developer') return { role: 'system', content: read.content };
  if (read.role !== 'assistant') return { ...read, role: read.role } as Message;
  const { role, content: text } = read;
  const calls = read.tool_calls ?? [];
  return calls.length === 0 ? { role, content: text ?? '' } : { role, content: text ?? null, tool_calls: calls };
}
