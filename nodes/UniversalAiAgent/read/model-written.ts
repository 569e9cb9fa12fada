/** A node by its name, or what no model writes; then properties, and calls with no argument or with a literal one. */
const PLAIN_REFERENCE =
  /\{\{\s*\$(?:\((?:'[^'{}]+'|"[^"{}]+")\)|(?:vars|env|workflow|execution)\b)(?:\.\w+|\[(?:'[^'{}]*'|"[^"{}]*"|\d+)\]|\((?:'[^'{}]*'|"[^"{}]*"|\d*)\))*\s*\}\}/g;

/**
 * Whether a model could have a say in a parameter of a node that is used as a tool: n8n lays the arguments that it writes
 * over the item, and `$fromAI` reads them. Takes the parameter as it was typed in. Only plain references are known to be
 * out of its reach, so any other expression counts.
 */
export function isModelWritten(parameter: unknown): boolean {
  if (typeof parameter === 'object' && parameter !== null) return Object.values(parameter).some(isModelWritten);
  return (
    typeof parameter === 'string' && parameter.startsWith('=') && parameter.replace(PLAIN_REFERENCE, '').includes('{{')
  );
}
