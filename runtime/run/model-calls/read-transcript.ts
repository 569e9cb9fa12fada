import * as z from 'zod/v4';

import type { Message } from '../../contracts/message';
import { describeIssues } from '../../errors/describe-issues';
import { RuntimeError } from '../../errors/runtime-error';

const part = z.object({
  type: z.literal('text', { error: 'must be "text": images and other files are not sent to the models of tenants' }),
  text: z.string(),
});
const content = z.union([z.string(), z.array(part)]);
const call = z.object({
  id: z.string(),
  type: z.literal('function').default('function'),
  function: z.object({ name: z.string(), arguments: z.string() }),
});
const transcript = z
  .array(
    z.discriminatedUnion('role', [
      z.object({ role: z.enum(['system', 'developer', 'user']), content }),
      z.object({ role: z.literal('assistant'), content: content.nullish(), tool_calls: z.array(call).optional() }),
      z.object({ role: z.literal('tool'), content, tool_call_id: z.string() }),
    ]),
  )
  .min(1);

/** Messages in the shape of the OpenAI chat API. Throws INPUT_INVALID, which names the message and the field. */
export function readTranscript(given: unknown): readonly Message[] {
  const { data, error } = transcript.safeParse(given);
  if (error !== undefined) throw new RuntimeError('INPUT_INVALID', { issues: describeIssues(error, 'messages') });
  return data.map((message): Message => {
    if (message.role === 'developer') return { role: 'system', content: message.content };
    if (message.role !== 'assistant') return { ...message, role: message.role } as Message;
    const { role, content: text = null, tool_calls: calls = [] } = message;
    return calls.length === 0 ? { role, content: text ?? '' } : { role, content: text, tool_calls: calls };
  });
}
