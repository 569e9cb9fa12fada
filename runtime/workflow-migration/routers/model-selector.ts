import { isJsonObject, type JsonValue } from '../../util/json';
import type { Branch, Cluster, WorkflowNode } from '../contract';
import type { Graph } from '../graph';
import { filterTest } from './conditions-filter';
import { decide, type Entry } from './decide';
import { anyOf, jsTest, type Test, unknownTest } from './test-expressions';

export const SELECTOR_TYPE = '@n8n/n8n-nodes-langchain.modelSelector';

/**
 * A lone agent whose model is a Model Selector: a branch for each model. Undefined for any other agent, and where the
 * rules cannot be carried. The agent asks for its model once, for the first of its items, so that the conditions read
 * `$input.first()`. When no rule holds the selector fails: the last branch has a condition too unless its rule always
 * holds.
 */
export function splitBySelector(lone: Branch, graph: Graph): Cluster | undefined {
  const [selector, ...others] = lone.models;
  if (selector?.type !== SELECTOR_TYPE || others.length > 0) return undefined;
  const entries = readRules(selector, graph) ?? [];
  const decision = decide(entries);
  const covered = coveredByLast(entries);
  if (entries.length === 0 || decision.kind !== 'decided' || covered.kind === 'unknown') return undefined;
  const isOpen = covered.kind === 'js' && covered.js !== 'true';
  const branches = decision.choices.map(({ agent: model, when = isOpen ? covered.js : undefined }) => ({
    ...lone,
    models: [model],
    ...(when === undefined ? {} : { when }),
  }));
  return { router: { node: selector, kind: 'model-selector' }, inner: [], branches };
}

/** The only choice without a condition is the last one; this is what its rules say. */
function coveredByLast(entries: readonly Entry[]): Test {
  const last = entries.at(-1)?.agent;
  return anyOf(entries.filter(({ agent }) => agent === last).flatMap(({ path }) => path.map(({ test }) => test)));
}

function readRules(selector: WorkflowNode, graph: Graph): readonly Entry[] | undefined {
  const edges = graph.into(selector, 'ai_languageModel').filter(({ from }) => from.disabled !== true);
  const models = edges.toSorted((one, other) => one.index - other.index);
  // Rules count the models that are connected, so that one that is missing would shift all after it.
  if (models.some((edge, position) => edge.index !== position)) return undefined;
  const { rules } = selector.parameters;
  const rows = isJsonObject(rules) ? rules.rule : undefined;
  if (!Array.isArray(rows) || rows.length === 0) return undefined;
  const entries = rows.map((row: JsonValue): Entry | undefined => {
    const { modelIndex = 1, conditions = {} } = isJsonObject(row) ? row : {};
    const model = typeof modelIndex === 'number' ? models[modelIndex - 1]?.from : undefined;
    const test = ofFirstItem(filterTest(conditions));
    return model && { agent: model, from: { node: selector.name, output: 0 }, path: [{ router: selector, test }] };
  });
  return entries.includes(undefined) ? undefined : (entries as readonly Entry[]);
}

const TEXT_OR_ROOT = /'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\$json\b|\$binary\b|\$\(/g;
const ROOTS: Readonly<Record<string, string>> = { $json: '$input.first().json', $binary: '$input.first().binary' };

function ofFirstItem(test: Test): Test {
  if (test.kind !== 'js') return test;
  if (test.js.match(TEXT_OR_ROOT)?.includes('$(') === true)
    return unknownTest(
      'condition-position',
      'The rules of the Model Selector read what another node gave for an item.',
    );
  return jsTest(test.js.replace(TEXT_OR_ROOT, (found) => ROOTS[found] ?? found));
}
