// What every subject has to do: five tool calls, one a step, then the answer. Both sides of the wire read this file.

export const TOOL_STEPS = 5;
export const MODEL_CALLS = TOOL_STEPS + 1;
export const MODEL_ID = 'bench/model-small';
export const SYSTEM_PROMPT = 'You look after the orders of a small shop. Use the tools, then answer in one sentence.';
export const USER_MESSAGE = 'Which of my last five orders have been shipped?';
export const ANSWER = 'Four of your last five orders have been shipped; A-1003 is being packed.';

export const toolName = (index) => `lookup_order_${String(index + 1).padStart(3, '0')}`;
export const orderId = (step) => `A-${1001 + step}`;

/** The arguments that the model writes in a step. */
export const toolArguments = (step) => ({ order_id: orderId(step), fields: ['status', 'total'], limit: 3 });

/**
 * The offered tools in a shape that belongs to no subject. The schema is as large as a usual one,
 * because sending it again at every step is a good part of what a loop costs.
 */
export function createTools(count) {
  const calls = { correct: 0 };
  const tools = Array.from({ length: count }, (_, index) => ({
    name: toolName(index),
    description: `Looks up one order in shop ${index + 1} and returns its status, its total and the last parcel event.`,
    parameters: orderSchema(),
    execute: async (input) => {
      // Only a call with the arguments that the model wrote counts, so that losing them shows.
      if (index < TOOL_STEPS && input?.order_id === orderId(index) && input.limit === 3) calls.correct += 1;
      return { order_id: input?.order_id, status: 'shipped', total: '19.90', parcel: { carrier: 'post', events: 3 } };
    },
  }));
  return { tools, calls };
}

function orderSchema() {
  return {
    type: 'object',
    properties: {
      order_id: { type: 'string', description: 'The number of the order, as it stands on the invoice.' },
      fields: {
        type: 'array',
        items: { type: 'string', enum: ['status', 'total', 'parcel', 'customer'] },
        description: 'Which parts of the order to return.',
      },
      limit: { type: 'integer', minimum: 1, maximum: 50, description: 'How many parcel events to return.' },
    },
    required: ['order_id'],
    additionalProperties: false,
  };
}
