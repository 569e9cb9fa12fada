import { findPrice } from '../../billing/cost';
import { nearestModels } from '../../billing/nearest-models';
import { type ListedModel, samePrice } from '../../billing/price-list';
import type { ModelPrice } from '../../contracts/ledger/usage';
import { RuntimeError } from '../../errors/runtime-error';
import { mergeTiers } from '../../models/tiers';
import {
  COST_COLUMNS,
  LIST_PRICES,
  LIST_TIERS,
  LOCK_PRICES,
  type PriceRow,
  setTierModelStatement,
  type TierModelRow,
  writePricesStatement,
} from '../../storage/sql/manage-prices';
import type { Query } from '../../storage/statement';
import { turn } from '../../util/turn';
import { misfit, type Places, readPlaces, toPrice, toRow } from './price-rows';

export interface SyncRequest {
  readonly models: readonly ListedModel[];
  /** Named on rows that are added. */
  readonly provider?: string;
  /** Models whose prices may be written over. */
  readonly overwrite: 'all' | readonly string[];
  /** Which tiers get another model, by their code. */
  readonly tiers: ReadonlyMap<string, string>;
  readonly dryRun: boolean;
}

/** What a sync has done, or would do; in the words of the tables. */
export interface SyncReport {
  readonly dry_run: boolean;
  readonly added: readonly PriceRow[];
  readonly overwritten: readonly Difference[];
  /** Ours stay until they are named. */
  readonly differing: readonly Difference[];
  readonly unchanged: number;
  /** Models that the list has, and no price that ours could say. */
  readonly skipped: readonly { readonly model_id: string; readonly reason: string }[];
  /** Models with further prices, such as one for a search of the web, which no bill of ours has. */
  readonly beside_tokens: readonly { readonly model_id: string; readonly prices: readonly string[] }[];
  /** Models of ours that the list lacks. */
  readonly unlisted: readonly string[];
  readonly tiers: readonly TierReport[];
}

interface Difference {
  readonly model_id: string;
  readonly ours: Partial<PriceRow>;
  readonly theirs: Partial<PriceRow>;
}

interface TierReport {
  readonly tier: string;
  readonly model_id: string;
  /** The model that it had, when the sync was told to change it. */
  readonly was?: string;
  readonly is_listed: boolean;
  /** Whether the model has a price now. */
  readonly is_priced: boolean;
  /** The models of the list that are most like one that it lacks. */
  readonly nearest?: readonly string[];
}

/** Rejects as `PriceAdmin.sync` says. */
export async function applyPriceList(query: Query, request: SyncRequest): Promise<SyncReport> {
  if (!request.dryRun) await query(LOCK_PRICES);
  const ours = await query<PriceRow>(LIST_PRICES);
  for (const id of request.overwrite === 'all' ? [] : request.overwrite)
    await refuseUnlisted(id, request.models.filter(hasPrice));
  const known = new Map(ours.map((row) => [row.model_id, row]));
  const places = await readPlaces(query);
  const judged: Judged[] = [];
  for (const model of request.models) {
    await turn();
    judged.push(judge(model, { own: known.get(model.modelId), places, request }));
  }
  const written = judged.flatMap((one) => (one.kind === 'added' || one.kind === 'overwritten' ? one.row : []));
  if (!request.dryRun && written.length > 0) await query(writePricesStatement(written));
  const tierRows = await query<TierModelRow>(LIST_TIERS);
  const after = new Map([...ours, ...written].map((row) => [row.model_id, row]));
  const priced = new Set([...after.values()].filter((row) => !isEmpty(row)).map((row) => row.model_id));
  const choice = request.models.filter((model) => hasPrice(model) || priced.has(model.modelId));
  for (const [code, model] of request.tiers) await changeTier(query, { code, model, tierRows, choice, request });
  const listed = new Set(request.models.map(({ modelId }) => modelId));
  return {
    dry_run: request.dryRun,
    added: judged.flatMap((one) => (one.kind === 'added' ? one.row : [])),
    overwritten: judged.flatMap((one) => (one.kind === 'overwritten' ? one.difference : [])),
    differing: judged.flatMap((one) => (one.kind === 'differing' ? one.difference : [])),
    unchanged: judged.filter(({ kind }) => kind === 'unchanged').length,
    skipped: judged.flatMap((one) => (one.kind === 'skipped' ? { model_id: one.model_id, reason: one.reason } : [])),
    beside_tokens: request.models.flatMap(({ modelId, besideTokens: prices }) =>
      prices === undefined ? [] : { model_id: modelId, prices },
    ),
    unlisted: ours.map((row) => row.model_id).filter((id) => !listed.has(id)),
    tiers: await reportTiers(tierRows, { request, prices: [...after.values()].flatMap(toPrice) }),
  };
}

type Judged =
  | { readonly kind: 'added'; readonly row: PriceRow }
  | { readonly kind: 'overwritten'; readonly row: PriceRow; readonly difference: Difference }
  | { readonly kind: 'differing'; readonly difference: Difference }
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'skipped'; readonly model_id: string; readonly reason: string };

interface Known {
  readonly own: PriceRow | undefined;
  readonly places: Places;
  readonly request: SyncRequest;
}

/** What becomes of the price of one listed model. */
function judge({ modelId, price, reason }: ListedModel, { own, places, request }: Known): Judged {
  if (price === undefined) return { kind: 'skipped', model_id: modelId, reason: reason ?? 'it has no price' };
  const row = toRow(price, request.provider);
  const problem = misfit(row, places);
  if (problem !== undefined) return { kind: 'skipped', model_id: modelId, reason: problem };
  if (own === undefined || isEmpty(own)) return { kind: 'added', row };
  if (samePrice(toPrice(own)[0], price)) return { kind: 'unchanged' };
  const difference = differenceOf(own, row);
  const isNamed = request.overwrite === 'all' || request.overwrite.includes(modelId);
  return isNamed ? { kind: 'overwritten', row, difference } : { kind: 'differing', difference };
}

/** A row that says no price has none to be kept. */
function isEmpty(row: PriceRow): boolean {
  return row.input_cost_per_1m === null || row.output_cost_per_1m === null;
}

function differenceOf(ours: PriceRow, theirs: PriceRow): Difference {
  const isOther = (one: string | null, other: string | null): boolean =>
    one === null || other === null ? one !== other : Number(one) !== Number(other);
  const names = COST_COLUMNS.filter((name) => isOther(ours[name], theirs[name]));
  const pick = (row: PriceRow): Partial<PriceRow> => Object.fromEntries(names.map((name) => [name, row[name]]));
  return { model_id: ours.model_id, ours: pick(ours), theirs: pick(theirs) };
}

async function changeTier(
  query: Query,
  {
    code,
    model,
    tierRows,
    choice,
    request,
  }: {
    readonly code: string;
    readonly model: string;
    readonly tierRows: readonly TierModelRow[];
    /** The models that a tier may get. */
    readonly choice: readonly ListedModel[];
    readonly request: SyncRequest;
  },
): Promise<void> {
  if (!tierRows.some((row) => row.code === code)) {
    throw new RuntimeError('TIER_UNKNOWN', { tier: code, knownTiers: tierRows.map((row) => row.code).join(', ') });
  }
  await refuseUnlisted(model, choice);
  if (!request.dryRun) await query(setTierModelStatement(code, model));
}

function hasPrice({ price }: ListedModel): boolean {
  return price !== undefined;
}

async function refuseUnlisted(model: string, models: readonly ListedModel[]): Promise<void> {
  if (models.some(({ modelId }) => modelId === model)) return;
  const nearest = await nearestModels(
    model,
    models.map(({ modelId }) => modelId),
  );
  throw new RuntimeError('MODEL_NOT_LISTED', { model, nearest: nearest.join(', ') });
}

async function reportTiers(
  tierRows: readonly TierModelRow[],
  { request, prices }: { readonly request: SyncRequest; readonly prices: readonly ModelPrice[] },
): Promise<readonly TierReport[]> {
  const ids = request.models.map(({ modelId }) => modelId);
  const rows = tierRows.map(({ code, name, model_id: modelId }) => ({ code, name: name ?? code, modelId }));
  const reports = mergeTiers(rows).map(async ({ code, modelId: was }): Promise<TierReport> => {
    const asked = request.tiers.get(code);
    const modelId = asked ?? was;
    const isListed = ids.includes(modelId);
    return {
      tier: code,
      model_id: modelId,
      ...(asked === undefined || asked === was ? {} : { was }),
      is_listed: isListed,
      is_priced: findPrice(prices, [modelId]) !== undefined,
      ...(isListed ? {} : { nearest: await nearestModels(modelId, ids) }),
    };
  });
  return Promise.all(reports);
}
