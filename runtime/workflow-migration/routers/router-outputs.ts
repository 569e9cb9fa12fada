import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json';
import type { Reason, Router, WorkflowNode } from '../contract';
import { filterTest } from './conditions-filter';
import { isDataType, legacyConditionsTest, legacyTest, outputIs } from './conditions-legacy';
import { ALWAYS, type Test, unknownTest } from './test-expressions';

/** The outputs of a router in the order in which it decides: an item takes the first whose test holds. */
type Routing =
  | { readonly kind: 'first-match'; readonly outputs: readonly RoutedOutput[] }
  /** What it does with an item cannot be known behind it. */
  | { readonly kind: 'opaque'; readonly why: Reason };

export interface RoutedOutput {
  readonly output: number;
  readonly test: Test;
}

const KINDS: Readonly<Record<string, Router['kind']>> = {
  'n8n-nodes-base.switch': 'switch',
  'n8n-nodes-base.if': 'if',
  'n8n-nodes-base.filter': 'filter',
};

/** Undefined for a node that routes nothing: another kind, or disabled, since n8n sends all items on from those. */
export function routerKind(node: WorkflowNode): Router['kind'] | undefined {
  return node.disabled === true || !Object.hasOwn(KINDS, node.type) ? undefined : KINDS[node.type];
}

export function readRouter(node: WorkflowNode): Routing {
  if (node.alwaysOutputData === true || handlesErrors(node))
    return opaque(
      'router-settings',
      'The router’s settings send items on that it did not route: those for errors or for empty outputs.',
    );
  if (routerKind(node) === 'switch') return node.typeVersion >= 3 ? readSwitch3(node) : readSwitch1(node);
  return readYesOrNo(node);
}

const opaque = (reason: string, text: string): Routing => ({ kind: 'opaque', why: { reason, text } });
const ordered = (outputs: readonly RoutedOutput[]): Routing => ({ kind: 'first-match', outputs });

const UNREADABLE = opaque(
  'router-unreadable',
  'The router’s rules are an expression or in a form that n8n does not know.',
);

function handlesErrors({ onError, continueOnFail }: WorkflowNode): boolean {
  return continueOnFail === true || (onError !== undefined && onError !== 'stopWorkflow');
}

/** IF and Filter: true, then all others. */
function readYesOrNo({ type, typeVersion, parameters }: WorkflowNode): Routing {
  const { conditions, combineOperation = 'all', combineConditions = 'AND' } = parameters;
  const combines = type === 'n8n-nodes-base.if' ? combineOperation : combineConditions;
  const combinesAll = COMBINES_ALL.get(combines);
  if (typeVersion < 2 && combinesAll === undefined) return UNREADABLE;
  const test = typeVersion >= 2 ? filterTest(conditions ?? {}) : legacyConditionsTest(conditions, combinesAll === true);
  return ordered([
    { output: 0, test },
    { output: 1, test: ALWAYS },
  ]);
}

const COMBINES_ALL: ReadonlyMap<JsonValue, boolean> = new Map([
  ['all', true],
  ['AND', true],
  ['any', false],
  ['OR', false],
]);

const MAX_OUTPUTS = 100;

/** A router that goes by the number that an expression gives. */
function byNumber(output: JsonValue | undefined, count: JsonValue): Routing {
  const length = typeof count === 'number' && count < MAX_OUTPUTS ? Math.max(Math.trunc(count), 0) : MAX_OUTPUTS;
  return ordered(Array.from({ length }, (_, index) => ({ output: index, test: outputIs(output, index) })));
}

function readSwitch3({ parameters }: WorkflowNode): Routing {
  const { mode = 'rules', rules, output, numberOutputs, options = {} } = parameters;
  if (mode === 'expression') return byNumber(output, numberOutputs ?? 4);
  const rows = rowsOf(rules, 'values');
  if (mode !== 'rules' || rows === undefined || !isJsonObject(options)) return UNREADABLE;
  return readRules3(rows, options);
}

function readRules3(rows: readonly JsonObject[], options: JsonObject): Routing {
  const { fallbackOutput = 'none', allMatchingOutputs = false } = options;
  if (allMatchingOutputs !== false) return ALL_OUTPUTS;
  const outputs = rows.map((row, index) => ({ output: index, test: filterTest(row.conditions ?? {}) }));
  return withFallback(outputs, fallbackOutput === 'extra' ? rows.length : fallbackOutput);
}

const ALL_OUTPUTS = opaque(
  'all-outputs',
  'The router sends an item to every output that matches, so that one item has several answers.',
);

function readSwitch1({ typeVersion, parameters }: WorkflowNode): Routing {
  const { mode = 'rules', rules, output = 0, outputsAmount = 4, fallbackOutput = -1 } = parameters;
  if (mode === 'expression') return byNumber(output, typeVersion < 2 ? 4 : outputsAmount);
  const rows = rowsOf(rules, 'rules');
  if (mode !== 'rules' || rows === undefined) return UNREADABLE;
  const outputs = rows.flatMap((row, index) => {
    const { output: asked = 0 } = row;
    const given = typeVersion < 2 ? asked : index;
    return typeof given === 'number' ? [{ output: given, test: ruleTest(parameters, row) }] : [];
  });
  return outputs.length < rows.length ? UNREADABLE : withFallback(outputs, fallbackOutput);
}

function ruleTest({ dataType = 'number', value1 }: JsonObject, row: JsonObject): Test {
  if (!isDataType(dataType))
    return unknownTest('condition-unreadable', 'The router compares a type that n8n does not know.');
  return legacyTest(dataType, value1, row);
}

/** Undefined for rules that an expression makes. */
function rowsOf(rules: JsonValue | undefined, key: string): readonly JsonObject[] | undefined {
  if (rules === undefined) return [];
  const rows = isJsonObject(rules) ? (rules[key] ?? []) : undefined;
  return Array.isArray(rows) && rows.every(isJsonObject) ? rows : undefined;
}

/** Items that no rule matches: dropped, or sent to an output of their own or to that of a rule. */
function withFallback(outputs: readonly RoutedOutput[], fallback: JsonValue): Routing {
  if (fallback === 'none' || fallback === -1) return ordered(outputs);
  const output = typeof fallback === 'string' && /^\d+$/.test(fallback) ? Number(fallback) : fallback;
  return typeof output === 'number' ? ordered([...outputs, { output, test: ALWAYS }]) : UNREADABLE;
}
