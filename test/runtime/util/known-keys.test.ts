import { nearestKey } from '../../../runtime/util/known-keys';

const KNOWN = ['decision', 'limits', 'max_cost_usd', 'max_tier', 'tools'];

it.each([
  ['decison', 'decision'],
  ['Decision', 'decision'],
  ['deicsion', 'decision'],
  ['limit', 'limits'],
  ['maxTier', 'max_tier'],
  ['MAX-TIER', 'max_tier'],
  ['max_tire', 'max_tier'],
  ['cost_usd', 'max_cost_usd'],
  ['tool', 'tools'],
])('takes %s for %s', (key, meant) => expect(nearestKey(key, KNOWN)).toBe(meant));

it.each([
  ['max'],
  ['tier'],
  ['min_tier'],
  ['max_time'],
  ['timezone'],
  ['usd_max'],
  [''],
  ['__proto__'],
  ['d'.repeat(1e6)],
])('takes %.20s for none of them', (key) => expect(nearestKey(key, KNOWN)).toBeUndefined());
