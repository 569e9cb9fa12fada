/** Properties, and calls with no argument or with a literal one. */
const PATH = String.raw`(?:\.\w+|\[(?:'[^'{}]*'|"[^"{}]*"|\d+)\]|\((?:'[^'{}]*'|"[^"{}]*"|\d*)\))*\s*\}\}`;
/** A node by its name, or what no model writes. */
const PLAIN_REFERENCE = new RegExp(
  String.raw`\{\{\s*\$(?:\((?:'[^'{}]+'|"[^"{}]+")\)|(?:vars|env|workflow|execution)\b)${PATH}`,
  'g',
);
/** What a trigger says of whoever calls it, beside what they ask for. */
const CALLER_REFERENCE = new RegExp(String.raw`\{\{\s*\$json\.(?:user|headers)\b${PATH}`, 'g');

/**
 * Whether a model could have a say in a parameter of a node that is used as a tool: n8n lays the arguments that it writes
 * over the item, and `$fromAI` reads them. Takes the parameter as it was typed in. Only plain references are known to be
 * out of its reach, so any other expression counts. `isCalled`: the item tells of a request, and of whoever sent it.
 */
export function isModelWritten(parameter: unknown, isCalled = false): boolean {
  if (typeof parameter === 'object' && parameter !== null) {
    return Object.values(parameter).some((one) => isModelWritten(one, isCalled));
  }
  if (typeof parameter !== 'string' || !parameter.startsWith('=')) return false;
  const rest = parameter.replace(PLAIN_REFERENCE, '');
  return (isCalled ? rest.replace(CALLER_REFERENCE, '') : rest).includes('{{');
}
