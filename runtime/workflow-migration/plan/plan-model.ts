import type { JsonValue } from '../../util/json';
import type { Branch, CredentialRef, Note, TierReport, WorkflowNode } from '../contract';
import { isSame, type MergedValue, mergeValues } from '../expressions/merge-values';
import type { Issue } from '../issue';
import { showName } from '../show-name';
import { mapTier, requireTierStatement, type TierNames, tierNotes, wantedCode } from '../tiers/map-tier';
import { isOptionValue, type PlannedTier, planTier, tierStatement } from '../tiers/tier-rows';
import { isTierModel, type OwnModel, readModel, type TierModel } from './read-model';

/** How the new node comes to its models. */
export interface ModelPlan {
  readonly provider?: TierModel['provider'];
  readonly credential?: { readonly type: TierModel['credentialType']; readonly ref: CredentialRef };
  readonly tier: JsonValue;
  /** The node's options that come from the model node. */
  readonly options?: { readonly temperature?: JsonValue; readonly maxTokens?: JsonValue };
  /** Model nodes that stay, the chat model first. */
  readonly connected: readonly WorkflowNode[];
  /** The tier of each branch; none where the model stays connected. */
  readonly tiers: readonly TierReport[];
  readonly statements: readonly string[];
  readonly notes: readonly Note[];
  readonly issues: readonly Issue[];
}

interface ModelRequest {
  readonly branches: readonly Branch[];
  /** The agents take a second model when the first one fails. */
  readonly needsFallback: boolean;
  readonly workflow: string;
  readonly names: TierNames;
}

/**
 * Tiers where every model can be one. What only the model nodes can do keeps them connected, which takes that all
 * branches share them.
 */
export function planModel(request: ModelRequest): ModelPlan {
  const { branches, needsFallback } = request;
  const count = needsFallback ? 2 : 1;
  const without = branches.find(({ models }) => models.length < count);
  if (without !== undefined) return refuse(missingModel(without, needsFallback));
  const [wanted = []] = branches.map(({ models }) => models.slice(0, count));
  const isShared = branches.every(({ models }) => wanted.every((model, index) => models[index]?.name === model.name));
  const read = branches.map(({ models }) => readModel(models[0] as WorkflowNode));
  const models = read.filter(isTierModel);
  const areTiers = models.length === read.length;
  const isPlain = areTiers && !needsFallback && models.every(({ dropped }) => dropped.length === 0);
  if (isShared && !isPlain) return keepConnected(wanted, read[0]);
  if (!areTiers) return refuse(...ownModelIssues(branches, read));
  const plan = planTiers(request, models);
  return needsFallback ? { ...plan, issues: [...plan.issues, FALLBACK] } : plan;
}

const FALLBACK: Issue = {
  reason: 'fallback-models',
  text: 'The fallback models are dropped, since the branches have different chat models. Give all of them the same chat model and the same fallback model to keep these.',
  allowance: 'dropped-options',
};

function missingModel({ agent }: Branch, needsFallback: boolean): Issue {
  const kind = needsFallback ? 'chat model and fallback model' : 'chat model';
  return { node: agent.name, reason: 'no-model', text: `It has no ${kind} connected and enabled. Connect one first.` };
}

function refuse(...issues: readonly Issue[]): ModelPlan {
  return { tier: '', connected: [], tiers: [], statements: [], notes: [], issues };
}

/** The node asks for a credential of its provider all the same; where the model has one of these, it is that. */
function keepConnected(connected: readonly WorkflowNode[], model: TierModel | OwnModel | undefined): ModelPlan {
  const known = model !== undefined && isTierModel(model) ? model : undefined;
  return {
    provider: known?.provider,
    credential: known?.credential && { type: known.credentialType, ref: known.credential },
    tier: '',
    connected,
    tiers: [],
    statements: [],
    notes: [],
    issues: [],
  };
}

function ownModelIssues(branches: readonly Branch[], read: readonly (TierModel | OwnModel)[]): readonly Issue[] {
  return branches.flatMap(({ agent, models }, index): Issue[] => {
    const model = read[index];
    if (model === undefined || isTierModel(model)) return [];
    const name = showName(models[0]?.name ?? '');
    const text = `Its model ${name} cannot become a tier, and the branches have different models. ${model.text}`;
    return [{ node: agent.name, reason: model.reason, text }];
  });
}

function planTiers(request: ModelRequest, models: readonly TierModel[]): ModelPlan {
  const [first] = models as readonly [TierModel, ...TierModel[]];
  const { branches } = request;
  const { planned, statements, notes } = nameTiers(sharedRows(request, models), request.names);
  const ofBranches = (value: (tier: PlannedTier) => JsonValue | undefined): MergedValue =>
    mergeValues(branches.map(({ when }, index) => ({ when, value: value(planned[index] as PlannedTier) })));
  const tier = ofBranches(({ report }) => report.code);
  const temperature = ofBranches((one) => one.temperature);
  const maxTokens = ofBranches((one) => one.maxTokens);
  return {
    provider: first.provider,
    credential: first.credential && { type: first.credentialType, ref: first.credential },
    tier: tier?.value ?? '',
    options: { temperature: temperature?.value, maxTokens: maxTokens?.value },
    connected: [],
    tiers: planned.map(({ report }) => report),
    statements,
    notes,
    issues: [
      ...providerIssues(models),
      ...droppedIssues(branches, models),
      ...[tier, temperature, maxTokens].flatMap((merged) => (merged === undefined ? [NOT_CARRIED] : [])),
      ...planned.flatMap((one) => (isOptionValue(one.temperature) && isOptionValue(one.maxTokens) ? [] : [ODD_NUMBER])),
    ],
  };
}

export const NOT_CARRIED: Issue = {
  reason: 'not-carried',
  text: 'The branches differ in a parameter whose values cannot be put into one expression: something in them is no JavaScript expression. Simplify it first.',
};

const ODD_NUMBER: Issue = {
  reason: 'model-options',
  text: 'A temperature or a maximum of tokens is neither a number nor an expression. Correct it first.',
};

interface NamedTiers {
  readonly planned: readonly PlannedTier[];
  readonly statements: readonly string[];
  readonly notes: readonly Note[];
}

/** The tiers under the names that the database has for them, where those are given. */
function nameTiers(own: readonly PlannedTier[], names: TierNames): NamedTiers {
  const wanted = own.map((tier) => wantedCode(tier, names));
  const planned = own.map((tier, index) => {
    const code = wanted[index];
    return code === undefined ? tier : mapTier(tier, names, code);
  });
  const isFirst = ({ report }: PlannedTier, index: number): boolean =>
    own.findIndex((other) => other.report.code === report.code) === index;
  const rows = new Map(planned.flatMap(({ row }) => (row === undefined ? [] : [[row.code, row] as const])));
  const required = new Set(wanted.filter((code) => code !== undefined));
  return {
    planned,
    statements: [...[...required].map(requireTierStatement), ...[...rows.values()].map(tierStatement)],
    notes: own.flatMap((tier, index) =>
      wanted[index] !== undefined || isFirst(tier, index) ? tierNotes(tier, names, wanted[index]) : [],
    ),
  };
}

/** Branches with the same model and settings share a row, that of the first of them. */
function sharedRows(
  { branches, workflow, names: { known } }: ModelRequest,
  models: readonly TierModel[],
): readonly PlannedTier[] {
  const planned: PlannedTier[] = [];
  for (const [index, model] of models.entries()) {
    const same = models.findIndex((other) => isSameModel(other, model));
    const agent = branches[index]?.agent.name ?? '';
    const before = same < index ? planned[same] : undefined;
    planned.push(
      before === undefined
        ? planTier({ model, agent, workflow, isLone: branches.length === 1, known })
        : { ...before, report: { ...before.report, agent } },
    );
  }
  return planned;
}

function isSameModel(one: TierModel, other: TierModel): boolean {
  return (
    one.modelId === other.modelId &&
    isSame(one.temperature, other.temperature) &&
    isSame(one.maxTokens, other.maxTokens)
  );
}

function providerIssues(models: readonly TierModel[]): readonly Issue[] {
  const [first] = models;
  if (models.some(({ provider }) => provider !== first?.provider)) {
    const text =
      'The branches use different providers. One node has one: choose models of OpenRouter for all, or leave them.';
    return [{ reason: 'several-providers', text }];
  }
  if (models.some(({ credential }) => !isSameCredential(credential, first?.credential))) {
    return [
      {
        reason: 'several-credentials',
        text: 'The branches use different credentials. Choose the same one in all models.',
      },
    ];
  }
  return [];
}

/** Compares by id where there are ids; older exports have the name alone. */
function isSameCredential(one: CredentialRef | undefined, other: CredentialRef | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return one.id === other.id && (typeof one.id === 'string' || one.name === other.name);
}

function droppedIssues(branches: readonly Branch[], models: readonly TierModel[]): readonly Issue[] {
  return branches.flatMap(({ agent, models: nodes }, index): Issue[] => {
    const dropped = models[index]?.dropped ?? [];
    if (dropped.length === 0) return [];
    const text = `Options of its model ${showName(nodes[0]?.name ?? '')} are dropped: ${dropped.map(showName).join(', ')}.`;
    return [{ node: agent.name, reason: 'model-options', text, allowance: 'dropped-options' }];
  });
}
