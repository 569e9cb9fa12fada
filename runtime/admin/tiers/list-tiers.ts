import { LIST_TIER_ENTRIES, type TierEntry } from '../../storage/sql/admin/manage-tiers';
import { strictObject } from '../../util/known-keys';
import { operation } from '../operation';

export const listTiers = operation({
  name: 'tier.list',
  title: 'List',
  action: 'List tiers',
  description: 'The tiers with their models and prices',
  lists: 'tiers',
  input: strictObject({}),
  run: async ({ postgres: { query } }) => ({ tiers: await query<TierEntry>(LIST_TIER_ENTRIES) }),
});
