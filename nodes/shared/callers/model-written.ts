/** A node by its name, or what no model writes; then properties, and calls with no argument or with a literal one. */
const PLAIN_REFERENCE =
  /\{\{\s*\$(?:\((?:'[^'{}]+'|"[^"{}]+")\)|(?:vars|env|workflow|execution)\b)(?:\.\w+|\[(?:'[^'{}]*'|"[^"{}]*"|\d+)\]|\((?:'[^'{}]*'|"[^"{}]*"|\d*)\))*\s*\}\}/g;
/** What a trigger says of whoever calls it, beside what they ask for, and what no caller writes. */
const CALLER_REFERENCE = /\$json\.(?:user|headers)\b|\$(?:vars|env|workflow|execution)\b/g;

/**
 * Whether a model could have a say in a parameter of a node that is used as a tool: n8n lays the arguments that it writes
 * over the item, and `$fromAI` reads them. Takes the parameter as it was typed in. Only plain references are known to be
 * out of its reach, so any other expression counts.
 */
export function isModelWritten(parameter: unknown): boolean {
  if (typeof parameter === 'object' && parameter !== null) return Object.values(parameter).some(isModelWritten);
  return isExpression(parameter) && parameter.replace(PLAIN_REFERENCE, '').includes('{{');
}

/**
 * Whether a parameter depends on more of a request than who has sent it, so that a model which calls could have a say. They may be
 * looked up: `{{ ({ "ann@example.com": "a-tenant" })[$json.user.email] }}`.
 */
export function isWrittenByCaller(parameter: unknown): boolean {
  return isExpression(parameter) && /\$|\bthis\b/.test(parameter.replace(CALLER_REFERENCE, ''));
}

/** Reports whether an expression depends on which item of the workflow it is evaluated for. */
export function followsItem(parameter: unknown): boolean {
  // What is written with a backslash may be any of these.
  return isExpression(parameter) && /\b(?:item|itemMatching|pairedItem)\b|\\/.test(parameter);
}

export function isExpression(parameter: unknown): parameter is string {
  return typeof parameter === 'string' && parameter.startsWith('=');
}
