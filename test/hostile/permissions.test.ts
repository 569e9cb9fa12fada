import '../support/setup/errors-of-node';

import { textReply, toolReply } from '../support/servers/model-server';
import { type Aftermath, callReply, hostileWorld, told, toldCodes } from '../support/worlds/hostile-world';

const world = hostileWorld();
const { attack } = world;
const DONE = textReply('Done');

/** One call with these arguments, as text or as an object, under these rules of the tenant. */
function call(rules: object, given: unknown, schema?: object): Promise<Aftermath> {
  return attack({
    tools: [{ code: 'pay', schema }],
    settings: { tool_config: { tool_permissions: { pay: rules } } },
    replies: [callReply('pay', given), DONE],
  });
}

describe('a pattern of the rules', () => {
  it.each([
    ['(a+)+$', '/(a+)+$/'],
    ['((a*)*)*', '/((a*)*)*b/'],
    ['(a|aa)+', '/(a|aa)+$/'],
    ['many stars of a glob', `${'a*'.repeat(10)}b`],
    ['a counted repetition of repetitions', '/((a{1,30}){1,30})c/'],
  ])('case 29: that is a trap for other engines, %s, refuses a long text at once', async (_what, pattern) => {
    // A backtracking engine does not end here: the run hangs, and nothing else reports it.
    for (const length of [30, 20_000]) {
      await world.fixture().database.query('DELETE FROM elo_agent_tools');
      const aftermath = await call({ allowed_patterns: { q: [pattern] } }, { q: `${'a'.repeat(length)}!` });
      expect(aftermath.executed).toEqual([]);
      expect(toldCodes(aftermath)).toEqual(['TOOL_PERMISSION_DENIED']);
    }
  });

  it('case 29: a trap still allows what it matches', async () => {
    const { executed } = await call({ allowed_patterns: { q: ['/(a+)+$/'] } }, { q: 'a'.repeat(20_000) });
    expect(executed).toHaveLength(1);
  });

  it.each([
    ['looks ahead', '/(?=a)b/'],
    ['looks behind', '/(?<!a)b/'],
    ['refers back', String.raw`/(a)\1/`],
    ['is not closed', '/(a/'],
    ['repeats too often', '/(a{1000}){1000}/'],
    ['is longer than a thousand characters', `/${'a'.repeat(1001)}/`],
    ['is no text', 7],
  ])('case 29: that %s is refused as a rule, and no model is called', async (_what, pattern) => {
    const { error, sent, bill, state } = await call({ allowed_patterns: { q: [pattern] } }, { q: 'b' });
    expect(error).toMatchObject({
      code: 'POLICY_INVALID',
      retryable: false,
      message: expect.stringContaining('settings.tool_config.tool_permissions.pay.allowed_patterns.q') as string,
    });
    expect([sent, bill, state]).toEqual([[], [], undefined]);
  });

  it.each([
    ['limits that are a text', { limits: { amount: { max: '100' } } }],
    ['limits the wrong way round', { limits: { amount: { min: 10, max: 1 } } }],
    ['NaN as JSON has it', { limits: { amount: { max: null } } }],
    ['a decision that is none', { decision: 'maybe' }],
    ['a list instead of rules', []],
    ['a count below zero', { max_calls_per_run: -1 }],
    ['a rate that is a word', { rate_limit_per_minute: 'many' }],
  ])('case 29: rules that cannot be read are no rules that fall away: %s', async (_what, rules) => {
    const { error, sent } = await call(rules, {});
    expect(error).toMatchObject({ code: 'POLICY_INVALID' });
    expect(sent).toEqual([]);
  });

  it('case 29: a rate without end, which JSON writes as null, leaves no call at all', async () => {
    const aftermath = await call({ rate_limit_per_minute: Infinity }, {});
    expect(aftermath.executed).toEqual([]);
    expect(toldCodes(aftermath)).toEqual(['TOOL_LIMIT_REACHED']);
  });

  it('case 29: rules of a task are read as strictly', async () => {
    const { error, sent } = await attack({
      tools: [{ code: 'pay' }],
      config: { tool_permissions: { pay: { allowed_patterns: { q: ['/(?=a)/'] } } } },
      replies: [DONE],
    });
    expect(error).toMatchObject({ code: 'POLICY_INVALID' });
    expect(sent).toEqual([]);
  });

  it('case 29: a pattern in the schema of a tool is no trap either', async () => {
    const schema = { type: 'object', properties: { q: { type: 'string', pattern: '^(a+)+$' } } };
    const { executed, ...rest } = await call({}, { q: `${'a'.repeat(20_000)}!` }, schema);
    expect(executed).toEqual([]);
    expect(toldCodes(rest)).toEqual(['TOOL_INVALID_ARGS']);
  });

  it.each([
    ['something before it', 'evil +49123'],
    ['something behind it', '+49123 evil'],
    ['a line behind it', '+49123\nevil'],
    ['a list with one that does not', ['+49123', '+1']],
    ['an object', { toString: '+49123' }],
    ['digits of another alphabet', '+49١٢٣'],
    ['NUL', '+49123\0'],
    ['null', null],
  ])('case 29: a value with %s does not match', async (_what, q) => {
    const aftermath = await call({ allowed_patterns: { q: [String.raw`/\+49\d+/`] } }, { q });
    expect(aftermath.executed).toEqual([]);
    expect(toldCodes(aftermath)).toEqual(['TOOL_PERMISSION_DENIED']);
    expect(told(aftermath)[0]).not.toContain('49\\\\d');
  });
});

describe('a limit of the rules', () => {
  const LIMIT = { limits: { amount: { min: 0, max: 100 } } };
  const TYPED = { type: 'object', properties: { amount: { type: 'number' }, to: { type: 'string' } } };

  it.each([
    ['1e9', '{"amount":1e9}', 100],
    ['100.5', '{"amount":100.5}', 100],
    ['-0', '{"amount":-0}', 0],
    ['less than nothing', '{"amount":-5}', 0],
    ['1e-400', '{"amount":1e-400}', 0],
    ['twice, the second too much', '{"amount":1,"amount":1e9}', 100],
    ['in escapes', String.raw`{"\u0061mount":1e9}`, 100],
    ['nothing', '{}', 100],
    ['null, where the schema does not ask', '{"amount":null}', 100],
  ])('case 30: %s is moved within it', async (_what, given, expected) => {
    const { executed, result } = await call(LIMIT, given);
    expect(executed.map((one) => one.arguments)).toEqual([{ amount: expected }]);
    expect(Object.is(executed[0]?.arguments.amount, expected)).toBe(true);
    // The caller and the audit see what was sent, not what was asked.
    expect(result?.result.tool_calls).toMatchObject([{ arguments: { amount: expected } }]);
  });

  it.each([
    ['a text', '{"amount":"1e9"}'],
    ['a text that is small', '{"amount":"5"}'],
    ['a list', '{"amount":[1e9]}'],
    ['an object', '{"amount":{"valueOf":1e9}}'],
    ['true', '{"amount":true}'],
    ['digits of another alphabet', '{"amount":"１００００"}'],
    ['too much for a number', '{"amount":1e400}'],
    ['hexadecimal', '{"amount":"0x7fffffff"}'],
  ])('case 30: %s instead of a number is refused, also where the schema says nothing', async (_what, given) => {
    const untyped = await call(LIMIT, given, { type: 'object', properties: { amount: {} } });
    expect(untyped.executed).toEqual([]);
    expect(toldCodes(untyped)).toEqual(['TOOL_PERMISSION_DENIED']);
    const typed = await attack({
      tools: [{ code: 'typed', schema: TYPED }],
      settings: { tool_config: { tool_permissions: { typed: LIMIT } } },
      replies: [callReply('typed', given), DONE],
    });
    expect(typed.executed).toEqual([]);
    expect(toldCodes(typed)).toEqual([given.includes('1e400') ? expect.any(String) : 'TOOL_INVALID_ARGS']);
  });

  it.each([
    ['in another case', '{"Amount":1e9,"to":"x"}'],
    ['with a blank', '{"amount ":1e9}'],
    ['with a zero-width space', '{"amount\\u200b":1e9}'],
    ['in another alphabet', '{"аmount":1e9}'],
    ['of the prototype', '{"__proto__":{"amount":1e9}}'],
    ['of the constructor', '{"constructor":{"amount":1e9}}'],
    ['as a path', '{"order.amount":1e9}'],
    ['of another argument', '{"max_amount":1e9}'],
  ])('case 30: a name %s does not get around it', async (_what, given) => {
    const aftermath = await call(LIMIT, given, TYPED);
    expect(aftermath.executed).toEqual([]);
    expect(toldCodes(aftermath)).toEqual(['TOOL_PERMISSION_DENIED']);
  });

  it.each([
    ['within', '{"order":{"amount":1e9}}', { order: { amount: 100 } }],
    ['under a name with a dot', '{"order.amount":1e9}', { 'order.amount': 100 }],
    ['both ways', '{"order":{"amount":7},"order.amount":1e9}', { order: { amount: 7 }, 'order.amount': 100 }],
    ['in a list', '{"order":[{"amount":1e9},{"amount":5}]}', { order: [{ amount: 100 }, { amount: 5 }] }],
    ['in a list of lists', '{"order":[[{"amount":1e9}]]}', { order: [[{ amount: 100 }]] }],
    ['in a text', '{"order":"{\\"amount\\":1e9}"}', undefined],
    ['as a text', '{"order":{"amount":"1e9"}}', undefined],
    ['in a list with a text', '{"order":[{"amount":5},"1e9"]}', undefined],
  ])('case 30: a nested argument %s is kept within it too', async (_what, given, expected) => {
    const schema = { type: 'object', properties: { order: {} } };
    const aftermath = await call({ limits: { 'order.amount': { max: 100 } } }, given, schema);
    expect(aftermath.executed.map((one) => one.arguments)).toEqual(expected === undefined ? [] : [expected]);
    expect(toldCodes(aftermath)).toEqual([expected === undefined ? 'TOOL_PERMISSION_DENIED' : undefined]);
  });

  it('case 30: an argument that is fixed cannot be set, hidden or seen', async () => {
    const schema = { type: 'object', properties: { account: { type: 'string' }, q: {} }, required: ['account'] };
    const { sent, executed } = await call(
      { fixed_arguments: { account: 'CANARY-own' } },
      '{"account":"evil","account":"evil","q":1}',
      schema,
    );
    expect(executed.map((one) => one.arguments)).toEqual([{ account: 'CANARY-own', q: 1 }]);
    expect(sent[0]?.tools?.[0]?.function.parameters).toEqual({ type: 'object', properties: { q: {} }, required: [] });
  });

  it('case 30: no level can widen what another has narrowed', async () => {
    const wide = { limits: { amount: { min: -1e9, max: 1e9 } }, decision: 'allow', max_calls_per_run: 1e6 };
    const { executed } = await attack({
      tools: [{ code: 'pay', customConfig: { permissions: wide } }],
      settings: {
        tool_config: {
          tool_permissions: { 'p*': { ...LIMIT, max_calls_per_run: 2 }, pay: wide },
          agents: { sales: { tool_permissions: { pay: wide } } },
        },
      },
      config: { agent: 'sales', tool_permissions: { pay: wide }, max_calls_per_tool: 1000 },
      replies: [toolReply([5000, 6000, 7000].map((amount) => ({ name: 'pay', arguments: { amount } }))), DONE],
    });
    expect(executed.map((one) => one.arguments.amount)).toEqual([100, 100]);
  });

  it('case 30: rules that change while the model thinks hold for the call that it then asks for', async () => {
    const { executed, ...rest } = await attack({
      tools: [{ code: 'pay' }],
      replies: [
        async (request, response) => {
          await world
            .fixture()
            .database.query(
              `UPDATE elo_t_tenants SET settings = $1 WHERE id IN (SELECT tenant_id FROM elo_agent_runs WHERE state = 'running')`,
              [JSON.stringify({ tool_config: { tool_permissions: { pay: LIMIT } } })],
            );
          expect(request.tools).toHaveLength(1);
          response
            .writeHead(200, { 'content-type': 'application/json' })
            .end(JSON.stringify(callReply('pay', '{"amount":1e9}').body));
        },
        DONE,
      ],
    });
    expect(executed.map((one) => one.arguments)).toEqual([{ amount: 100 }]);
    expect(toldCodes(rest)).toEqual([undefined]);
  });
});
