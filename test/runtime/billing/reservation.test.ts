import { reservation } from '../../../runtime/billing/budget';

const cheap = { modelId: 'a/cheap', inputPer1M: '1', outputPer1M: '2' };
const dear = { modelId: 'a/dear', inputPer1M: '10', outputPer1M: '20' };
const call = { promptTokens: 1000, completionTokens: 100 };
const monthly = { costLimitUsd: '5' };

it.each([
  [[], '0'],
  [[cheap], '0.0012'],
  [[cheap, dear], '0.012'],
  [[dear, cheap], '0.012'],
])('holds room for a call at the highest of its prices', (prices, holdCostUsd) => {
  expect(reservation({ monthly }, call, prices)).toEqual({ costLimitUsd: '5', holdCostUsd, holdTokens: 1100 });
});

it('holds nothing for a tenant without limits', () => {
  expect(reservation({}, call, [cheap])).toBeUndefined();
});
