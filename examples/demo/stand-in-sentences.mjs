// What tools found, as a person would say it.

const SENTENCES = {
  find_orders: ({ customer, orders }) =>
    `${customer} has ${count(orders, 'order')}: ${and(orders.map(({ item, state }) => `a ${item} (${state})`))}.`,
  delivery_estimate: ({ city, days }) => `A delivery reaches ${city} in ${days} days.`,
  find_trips: ({ customer, trips }) =>
    `${customer} has booked ${count(trips, 'trip')}: ${and(trips.map(({ to, month }) => `${to} in ${month}`))}.`,
  weather_forecast: ({ city, weather }) => `${city} expects ${weather}.`,
  return_policy: ({ days }) => `You can return everything within ${days} days.`,
  refund_order: ({ order }) => `Order ${order} is refunded.`,
};

/**
 * @param {string} tool
 * @param {string} content what the model was given as the tool's result
 */
export function sentenceOf(tool, content) {
  const value = parse(content);
  if (value?.error !== undefined) return `${tool} could not be used: ${value.error.message ?? value.error}`;
  try {
    // n8n's MCP Client puts its own name before the tool's.
    const [, sentence] = Object.entries(SENTENCES).find(([name]) => tool.endsWith(name));
    return sentence(value);
  } catch {
    return `${tool} says: ${plain(value)}.`;
  }
}

function parse(content) {
  try {
    const value = JSON.parse(content);
    // n8n's MCP Client hands on the protocol's list of contents.
    const text = value?.response?.[0]?.text;
    return text === undefined ? value : parse(text);
  } catch {
    return content;
  }
}

function plain(value) {
  if (typeof value !== 'object' || value === null) return String(value).replace(/[.]$/, '');
  if (Array.isArray(value)) return and(value.map(plain));
  return Object.entries(value)
    .map(([name, field]) => `${name.replaceAll('_', ' ')} ${plain(field)}`)
    .join(', ');
}

const NUMBERS = ['no', 'one', 'two', 'three'];

const count = ({ length }, noun) => `${NUMBERS[length] ?? length} ${noun}${length === 1 ? '' : 's'}`;

const and = (texts) => texts.join(', ').replace(/, ([^,]*)$/, ' and $1');
