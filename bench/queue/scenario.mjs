// What a task is, for both workers: one model call, or with a tool step two and one tool call between. Both sides of
// the wire read this file.
import { performance } from 'node:perf_hooks';

export const MODEL_ID = 'bench/model-small';
export const TIER = 'small';
export const SYSTEM_PROMPT = 'You look after the orders of a small shop. Answer in one sentence.';
export const ANSWER = 'Four of your last five orders have been shipped; A-1003 is being packed.';
export const TOOL = {
  name: 'lookup_order',
  description: 'Looks up one order and returns its status, its total and the last parcel event.',
  parameters: {
    type: 'object',
    properties: { order_id: { type: 'string', description: 'The number of the order, as it stands on the invoice.' } },
    required: ['order_id'],
    additionalProperties: false,
  },
};
export const TOOL_ARGUMENTS = { order_id: 'A-1001' };
export const TOOL_RESULT = { order_id: 'A-1001', status: 'shipped', total: '19.90' };

/** Milliseconds since 1970 with fractions, the same clock in every process of the machine. */
export const now = () => performance.timeOrigin + performance.now();

/** The moment of the push stands in the message, so that the model server can tell how long the way to it was. */
export const messageAt = (pushedAt) => `Pushed at ${pushedAt.toFixed(3)}. Which of my last five orders are shipped?`;
export const PUSHED_AT = /Pushed at (\d+\.\d+)\./;
