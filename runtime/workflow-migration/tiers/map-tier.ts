import type { Tier } from '../../contracts/tenant';
import type { Note } from '../contract';
import { showName } from '../show-name';
import { sqlText } from '../sql-text';
import type { PlannedTier, TierValues } from './tier-rows';

/** The names that a database has for tiers, and which of the planned ones they are. */
export interface TierNames {
  /** The tiers that are there already. */
  readonly known: readonly Tier[];
  /** Leads from a code of the report, an agent's name or a model id to the code of a tier that is there. */
  readonly map: ReadonlyMap<string, string>;
}

/** The code that is wanted instead: by the tier's own code, else by the agent's name, else by the model. */
export function wantedCode({ report, values }: PlannedTier, { map }: TierNames): string | undefined {
  return map.get(report.code) ?? map.get(report.agent) ?? map.get(values.modelId);
}

/** The same branch on the tier of this code, which has to be there. */
export function mapTier(
  { report, row: _dropped, ...planned }: PlannedTier,
  { known }: TierNames,
  code: string,
): PlannedTier {
  const model = known.find((tier) => tier.code === code)?.modelId ?? report.model;
  return { ...planned, report: { ...report, code, model, isNew: false } };
}

/** What a map changes, or where one would keep a name that is there. */
export function tierNotes(planned: PlannedTier, { known }: TierNames, wanted: string | undefined): readonly Note[] {
  const { report, values } = planned;
  if (wanted !== undefined) {
    const tier = known.find(({ code }) => code === wanted);
    const text = tier === undefined ? unknownText(wanted) : changedText(tier, values);
    return text === undefined ? [] : [{ node: report.agent, text }];
  }
  if (!report.isNew) return [];
  return known
    .filter(({ code, modelId }) => modelId === values.modelId && code !== report.code)
    .map((tier) => ({ node: report.agent, text: proposal(report.code, tier, values) }));
}

/** Fails when there is no tier of this code: nothing could run on it. An aggregate, so that it is not computed in advance. */
export function requireTierStatement(code: string): string {
  return [
    '-- Fails when there is no such tier: correct --tier-map, and migrate again.',
    `SELECT concat(${sqlText(`there is no tier ${code}, only `)}, string_agg(code, ', ' ORDER BY code))::int FROM elo_agent_tiers`,
    `HAVING NOT coalesce(bool_or(code = ${sqlText(code)}), false);`,
  ].join('\n');
}

interface Difference {
  readonly what: string;
  readonly from: string;
  readonly to: string;
}

function differences(tier: Tier, values: TierValues): readonly Difference[] {
  return [
    { what: 'model', from: showName(values.modelId), to: showName(tier.modelId) },
    { what: 'temperature', from: showTemperature(values.temperature), to: showTemperature(tier.temperature) },
    { what: 'maximum of tokens', from: showCount(values.maxTokens), to: showCount(tier.maxTokens) },
  ].filter(({ from, to }) => from !== to);
}

const showTemperature = (value: number | undefined): string => value?.toFixed(2) ?? 'none';
const showCount = (value: number | undefined): string => (value === undefined ? 'none' : String(value));

const listed = (texts: readonly string[]): string => texts.join(' and ');

function proposal(code: string, tier: Tier, values: TierValues): string {
  const different = differences(tier, values);
  const changes =
    different.length === 1
      ? different.map(({ from, to }) => `${from} to ${to}`)
      : different.map(({ what, from, to }) => `the ${what} from ${from} to ${to}`);
  return `Its model is that of the tier ${tier.code}, and it differs only in ${listed(different.map(({ what }) => what))}: --tier-map ${code}=${tier.code} would change ${listed(changes)}.`;
}

function changedText(tier: Tier, values: TierValues): string | undefined {
  const different = differences(tier, values);
  if (different.length === 0) return undefined;
  const changes = different.map(({ what, from, to }) => `the ${what} from ${from} to ${to}`);
  return `Its tier ${tier.code} changes ${listed(changes)}, as --tier-map asks.`;
}

const unknownText = (code: string): string =>
  `Its model and settings are those of the tier ${showName(code)} in the database, as --tier-map asks.`;
