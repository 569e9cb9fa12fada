import { inspect } from 'node:util';

import { describeError, isRuntimeError, RuntimeError } from '../../../runtime/errors/runtime-error';
import { errorText, toRuntimeError } from '../../../runtime/errors/to-runtime-error';
import { toolFailure } from '../../../runtime/errors/tool-failure';
import { matching } from '../../support/setup/matchers';

it('fills the facts into message and hint', () => {
  const error = new RuntimeError('TIER_UNKNOWN', { tier: 'gold', knownTiers: 'nano, pro' });
  expect(error).toMatchObject({
    name: 'RuntimeError',
    code: 'TIER_UNKNOWN',
    category: 'caller',
    retryable: false,
    message: 'Tier "gold" is not configured. Known tiers: nano, pro.',
    details: { tier: 'gold', knownTiers: 'nano, pro' },
  });
});

it('puts a fact in once and does not read it again', () => {
  const reason = '{tier} $& $1 {reason}';
  expect(describeError('INTERNAL_ERROR', { reason }).message).toBe(`Something unexpected went wrong: ${reason}`);
});

it('says unknown for a fact that is missing', () => {
  expect(describeError('TENANT_NOT_FOUND').message).toBe('Tenant "unknown" does not exist.');
});

it('gives a summary without stack, cause, details or result', () => {
  const error = new RuntimeError('RUN_CANCELLED', { secret: 'x' }, { cause: new Error('why'), result: { steps: 5 } });
  expect(error.toSummary()).toEqual({
    code: 'RUN_CANCELLED',
    message: 'The run was cancelled.',
    hint: matching(/./),
  });
});

it('keeps the original as its cause and out of its JSON', () => {
  const cause = new Error('CANARY');
  const error = toRuntimeError(cause);
  expect(error).toMatchObject({ code: 'INTERNAL_ERROR', cause });
  expect(JSON.stringify(new RuntimeError('RUN_CANCELLED', {}, { cause }))).not.toContain('CANARY');
});

it('is the same object when it is one already', () => {
  const error = new RuntimeError('RUN_CANCELLED');
  expect(toRuntimeError(error)).toBe(error);
});

it('is known by its mark, not by its class: there may be two copies of this package', () => {
  jest.isolateModules(() => {
    // eslint-disable-next-line @typescript-eslint/no-require-imports
    const other = require('../../../runtime/errors/runtime-error') as { RuntimeError: typeof RuntimeError };
    const error = new other.RuntimeError('RUN_CANCELLED');
    expect(error).not.toBeInstanceOf(RuntimeError);
    expect(isRuntimeError(error)).toBe(true);
  });
  for (const value of [null, undefined, 'RuntimeError', { code: 'RUN_CANCELLED' }])
    expect(isRuntimeError(value)).toBe(false);
});

it.each([
  [new Error('boom'), 'boom'],
  [new TypeError(''), 'TypeError'],
  ['text', 'text'],
  [undefined, 'undefined'],
  [new AggregateError([new Error('one'), new Error('two')], ''), 'one; two'],
  [new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') }), 'connect ECONNREFUSED'],
])('has a text for %p', (error, text) => expect(errorText(error)).toBe(text));

it('tells a model code, message and hint', () => {
  expect(toolFailure('TOOL_NOT_FOUND', { tool: 'x', available: 'a, b' })).toEqual({
    isError: true,
    code: 'TOOL_NOT_FOUND',
    value: {
      code: 'TOOL_NOT_FOUND',
      message: 'There is no tool named "x". Available tools: a, b.',
      hint: 'Call one of the available tools, or answer without it.',
    },
  });
});

it('shows no more than its parts when it is printed', () => {
  expect(inspect(new RuntimeError('RUN_CANCELLED'))).toContain("code: 'RUN_CANCELLED'");
});
