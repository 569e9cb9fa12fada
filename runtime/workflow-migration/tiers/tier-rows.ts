import { createHash } from 'node:crypto';

import type { Tier } from '../../contracts/tenant';
import { canonicalJson, type JsonValue } from '../../util/json';
import type { TierReport } from '../contract';
import { isExpression } from '../parameters';
import type { TierModel } from '../plan/read-model';
import { showName } from '../show-name';
import { sqlNumber, sqlText } from '../sql-text';
import { HASH_LENGTH, tierCode } from './tier-code';

/** The tier of one branch, and what it cannot hold, which becomes an option of the node. */
export interface PlannedTier {
  readonly report: TierReport;
  /** What the branch has now. */
  readonly values: TierValues;
  /** A row that the database lacks. */
  readonly row?: Tier;
  readonly temperature?: JsonValue;
  readonly maxTokens?: JsonValue;
}

export type TierValues = Pick<Tier, 'modelId' | 'temperature' | 'maxTokens'>;

interface TierRequest {
  readonly model: TierModel;
  readonly agent: string;
  /** Empty for a workflow without a name. */
  readonly workflow: string;
  /** True for an agent that is its node's only one. */
  readonly isLone: boolean;
  /** The tiers that are there already. */
  readonly known: readonly Tier[];
}

const MAX_NAME = 100;
const MAX_TOKENS = 2_147_483_647;

/**
 * One of the known tiers where all of it is the same, else a row of its own. The code holds a part of a hash of the row, so
 * that a code that is already there stands for the same model and settings. A row that an earlier build added under other
 * words keeps its code.
 */
export function planTier({ model, agent, workflow, isLone, known }: TierRequest): PlannedTier {
  const { modelId } = model;
  const temperature = asTemperature(model.temperature);
  const maxTokens = asMaxTokens(model.maxTokens);
  const beside = {
    temperature: temperature === undefined ? model.temperature : undefined,
    maxTokens: maxTokens === undefined ? model.maxTokens : undefined,
  };
  const values: TierValues = { modelId, maxTokens, temperature };
  const same = known.find((tier) => !isOfMigration(tier) && isSameTier(tier, values));
  if (same !== undefined) return { report: { code: same.code, model: modelId, agent, isNew: false }, values };
  const hash = hashOf(workflow, agent, values);
  const earlier = known.find((tier) => isOfMigration(tier) && tier.code.endsWith(`_${hash}`));
  const code = earlier?.code ?? tierCode({ workflow, agent, modelId, isLone }, hash);
  const name = Array.from(workflow === '' ? showName(agent) : `${showName(workflow)}: ${showName(agent)}`)
    .slice(0, MAX_NAME)
    .join('');
  return { report: { code, model: modelId, agent, isNew: true }, row: { code, name, ...values }, values, ...beside };
}

function isSameTier(tier: Tier, { modelId, temperature, maxTokens }: TierValues): boolean {
  return tier.modelId === modelId && tier.temperature === temperature && tier.maxTokens === maxTokens;
}

/** A row that an earlier run added stands for its own branch only: a second run has to give the same as the first. */
function isOfMigration({ code, name, modelId, maxTokens, temperature }: Tier): boolean {
  if (!HASH_AT_END.test(code)) return false;
  return name.includes(': ') || code.endsWith(`_${hashOf('', name, { modelId, maxTokens, temperature })}`);
}

const HASH_AT_END = new RegExp(`_[0-9a-z]{${HASH_LENGTH}}$`);

/** 36 bits in as few characters as may be, so that like-named workflows do not meet. */
function hashOf(workflow: string, agent: string, values: TierValues): string {
  const digest = createHash('sha256')
    .update(canonicalJson([workflow, agent, values]))
    .digest();
  return digest.readBigUInt64BE().toString(36).padStart(HASH_LENGTH, '0').slice(-HASH_LENGTH);
}

/** The column holds 0.00 to 9.99; models take 0 to 2. */
function asTemperature(value: JsonValue | undefined): number | undefined {
  return typeof value === 'number' && value >= 0 && value <= 2 && Number(value.toFixed(2)) === value
    ? value
    : undefined;
}

function asMaxTokens(value: JsonValue | undefined): number | undefined {
  const isCount = typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MAX_TOKENS;
  return isCount ? value : undefined;
}

/** True for what the node's option takes as it is. */
export function isOptionValue(value: JsonValue | undefined): boolean {
  return value === undefined || typeof value === 'number' || isExpression(value);
}

/** The rank decides what a tenant with a highest tier may use; only a person knows where the model belongs. */
export function tierStatement(row: NonNullable<PlannedTier['row']>): string {
  const { code, name, modelId, maxTokens, temperature } = row;
  const values = [sqlText(code), sqlText(name), sqlText(modelId), sqlNumber(maxTokens), sqlNumber(temperature)];
  return [
    'INSERT INTO elo_agent_tiers (code, name, model_id, max_tokens, temperature)',
    `VALUES (${values.join(', ')})`,
    'ON CONFLICT (code) DO NOTHING;',
  ].join('\n');
}
