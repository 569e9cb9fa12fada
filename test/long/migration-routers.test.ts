import { createRequire } from 'node:module';
import { join } from 'node:path';

import { Expression, type INodeExecutionData, type INodeType, type VersionedNodeType } from 'n8n-workflow';

import type { JsonObject } from '../../runtime/util/json';
import { parseWorkflow } from '../../runtime/workflow-migration/parse-workflow';
import { readRouter } from '../../runtime/workflow-migration/routers/router-outputs';
import { fc } from '../support/values/properties';
import { outputOf, runInEngine } from '../support/worlds/n8n-engine';

const nodesOfN8n = createRequire(join(__dirname, '../e2e/package.json'));

function loadNode(name: string, version: number): INodeType {
  const path = `n8n-nodes-base/dist/nodes/${name}/${name}.node.js`;
  const { [name]: Node } = nodesOfN8n(path) as Record<string, new () => VersionedNodeType>;
  if (Node === undefined) throw new Error(`no node ${name}`);
  return new Node().getNodeType(version);
}

interface Router {
  readonly name: 'Switch' | 'If' | 'Filter';
  readonly version: number;
  readonly parameters: JsonObject;
}

const engine = new Expression('UTC');
const holds = (js: string, json: object): boolean =>
  engine.resolveSimpleParameterValue(`={{ (${js}) ? true : false }}`, { $json: json } as never) === true;

/** The output that n8n itself sends the item to; undefined where it fails or drops the item. */
async function sentTo(router: Router, json: INodeExecutionData['json']): Promise<number | undefined> {
  const type = `n8n-nodes-base.${router.name.toLowerCase()}`;
  const place = { position: [0, 0] as [number, number] };
  const run = await runInEngine({
    workflow: {
      nodes: [
        { id: 'start', name: 'Start', type: 'test.items', typeVersion: 1, parameters: {}, ...place },
        {
          id: 'router',
          name: 'Router',
          type,
          typeVersion: router.version,
          parameters: router.parameters as never,
          ...place,
        },
      ],
      connections: { Start: { main: [[{ node: 'Router', type: 'main', index: 0 }]] } },
    },
    items: [json],
    credentials: {},
    nodeTypes: { [type]: loadNode(router.name, router.version) },
  });
  const output = [0, 1, 2, 3, 4].find((index) => outputOf(run, 'Router', index).length > 0);
  return run.status === 'success' ? output : undefined;
}

/** The first output whose condition holds. */
function carriedTo(router: Router, json: object): number | 'refused' | undefined {
  const type = `n8n-nodes-base.${router.name.toLowerCase()}`;
  const [node] = parseWorkflow({
    nodes: [{ name: 'Router', type, typeVersion: router.version, parameters: router.parameters }],
  }).nodes;
  const routing = node && readRouter(node);
  if (routing?.kind !== 'first-match') return 'refused';
  for (const { output, test } of routing.outputs) {
    if (test.kind === 'unknown') return 'refused';
    if (test.kind === 'always' || holds(test.js, json)) return output;
  }
  return undefined;
}

const value = fc.constantFrom('', 'a', 'A', 'ab', '5', ' ', 0, 1, 5, 2.5, true, false, null, '2024-05-01', '/A/i');
const item = fc.record({ a: value, b: value }, { noNullPrototype: true });
const left = fc.constantFrom('={{ $json.a }}', '={{ $json.b }}', '={{ $json.a.b }}', '=x{{ $json.b }}', 'a');
const right = fc.oneof(value, fc.constantFrom('={{ $json.b }}', '={{ $json.a }}'));

const leftOrNone = fc.option(left);

const OPERATIONS = {
  string:
    'contains notContains endsWith notEndsWith equal notEqual regex notRegex startsWith notStartsWith isEmpty isNotEmpty',
  number: 'smaller smallerEqual equal notEqual larger largerEqual isEmpty isNotEmpty',
  boolean: 'equal notEqual',
  dateTime: 'after before',
};
const dataType = fc.constantFrom(...(Object.keys(OPERATIONS) as (keyof typeof OPERATIONS)[]));
/** Without what only IF 1 and Filter 1 have. */
const operationOf = (type: keyof typeof OPERATIONS, isSwitch: boolean) =>
  fc.constantFrom(...OPERATIONS[type].split(' ').filter((name) => !isSwitch || !/^is/.test(name)));

const legacySwitch = fc
  .record({
    version: fc.constantFrom(1, 2),
    type: dataType,
    value1: leftOrNone,
    fallbackOutput: fc.constantFrom(-1, 0, 1),
  })
  .chain(({ version, type, value1, fallbackOutput }) =>
    fc
      .array(
        fc.record(
          { operation: operationOf(type, true), value2: right, output: fc.constantFrom(0, 1, 2) },
          { requiredKeys: [], noNullPrototype: true },
        ),
        { minLength: 2, maxLength: 3 },
      )
      .map((rules) => ({
        name: 'Switch',
        version,
        parameters: { dataType: type, value1, rules: { rules }, fallbackOutput },
      })),
  );

const legacyYesNo = fc
  .record({
    name: fc.constantFrom('If', 'Filter'),
    all: fc.boolean(),
    rows: fc.array(
      dataType.chain((type) =>
        fc.tuple(
          fc.constant(type),
          fc.record(
            { value1: leftOrNone, operation: operationOf(type, false), value2: right },
            { requiredKeys: [], noNullPrototype: true },
          ),
        ),
      ),
      { minLength: 1, maxLength: 3 },
    ),
  })
  .map(({ name, all, rows }) => ({
    name,
    version: 1,
    parameters: {
      conditions: Object.fromEntries(
        Object.keys(OPERATIONS).map((type) => [type, rows.filter(([of]) => of === type).map(([, row]) => row)]),
      ),
      ...(name === 'If' ? { combineOperation: all ? 'all' : 'any' } : { combineConditions: all ? 'AND' : 'OR' }),
    },
  }));

const filter = fc.record(
  {
    combinator: fc.constantFrom('and', 'or'),
    options: fc.record(
      {
        caseSensitive: fc.boolean(),
        typeValidation: fc.constantFrom('strict', 'loose'),
        version: fc.constantFrom(1, 2, 3),
      },
      { noNullPrototype: true },
    ),
    conditions: fc.array(
      fc.record(
        {
          leftValue: left,
          rightValue: right,
          operator: fc.constantFrom(
            { type: 'string', operation: 'equals' },
            { type: 'string', operation: 'contains' },
            { type: 'string', operation: 'regex' },
            { type: 'number', operation: 'gt' },
            { type: 'number', operation: 'notEmpty' },
            { type: 'boolean', operation: 'true' },
            { type: 'string', operation: 'exists' },
          ),
        },
        { noNullPrototype: true },
      ),
      { minLength: 1, maxLength: 2 },
    ),
  },
  { noNullPrototype: true },
);

const newSwitch = fc
  .record({
    version: fc.constantFrom(3, 3.1, 3.2, 3.3, 3.4),
    filters: fc.array(filter, { minLength: 1, maxLength: 3 }),
    fallbackOutput: fc.constantFrom('none', 'extra', 0),
  })
  .map(({ version, filters, fallbackOutput }) => ({
    name: 'Switch',
    version,
    parameters: { rules: { values: filters.map((conditions) => ({ conditions })) }, options: { fallbackOutput } },
  }));

const newYesNo = fc
  .record({ name: fc.constantFrom('If', 'Filter'), version: fc.constantFrom(2, 2.1, 2.2, 2.3), conditions: filter })
  .map(({ name, version, conditions }) => ({ name, version, parameters: { conditions, options: {} } }));

const byNumber = fc
  .record({
    version: fc.constantFrom(1, 2, 3, 3.3, 3.4),
    output: fc.constantFrom('={{ $json.a }}', '={{ $json.b ? 2 : 1 }}', 1),
  })
  .map(({ version, output }) => ({ name: 'Switch', version, parameters: { mode: 'expression', output } }));

describe('routers, run by n8n’s own nodes', () => {
  it.each([
    ['Switch 1 and 2', legacySwitch],
    ['IF 1 and Filter 1', legacyYesNo],
    ['Switch 3', newSwitch],
    ['IF 2 and Filter 2', newYesNo],
    ['Switch by the number of an output', byNumber],
  ])('%s: an item goes where the first condition that holds says', async (_name, routers) => {
    let compared = 0;
    await fc.assert(
      fc.asyncProperty(routers as fc.Arbitrary<unknown>, item, async (router, json) => {
        const expected = await sentTo(router as Router, json);
        const carried = carriedTo(router as Router, json);
        if (expected === undefined || carried === 'refused') return;
        compared += 1;
        expect(carried).toBe(expected);
      }),
      { numRuns: 400 },
    );
    expect(compared).toBeGreaterThan(50);
  });
});
