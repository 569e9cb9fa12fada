import type { ClusterReport, LeftAgent, MigrationReport, Note, TierReport } from '../contract';

/** A report and the file that it is about. */
interface NamedReport {
  readonly file: string;
  readonly report: MigrationReport;
}

/** The report of one workflow for a terminal; ends with a line break. */
export function renderText({ file, report }: NamedReport): string {
  const lines = [
    report.workflow.trim() === '' ? oneLine(file) : `${oneLine(file)}: ${oneLine(report.workflow)}`,
    ...(report.clusters.length === 0 ? ['  Left as it is.'] : report.clusters.flatMap(clusterLines)),
    ...section('Agents left as they are', leftLines(report.left)),
    ...section('What n8n 3 changes', v3Lines(report)),
    ...section('To know or to do', report.notes.map(noteLine)),
  ];
  return `${lines.join('\n')}\n`;
}

/** The reports of many workflows as one Markdown text; ends with a line break. */
export function renderMarkdown(reports: readonly NamedReport[]): string {
  const migrated = reports.filter(({ report }) => report.clusters.length > 0);
  const left = reports.filter(({ report }) => report.clusters.length === 0);
  const parts = [
    '# Migrated workflows',
    `${migrated.length} of ${reports.length} workflows were migrated.`,
    ...migrated.map(markdownOf),
    ...(left.length === 0 ? [] : ['# Left as they are', ...left.map(markdownOf)]),
  ];
  return `${parts.join('\n\n')}\n`;
}

function markdownOf({ file, report }: NamedReport): string {
  const parts = [
    `## ${escapeMarkdown(report.workflow.trim() === '' ? file : report.workflow)}`,
    `File: ${escapeMarkdown(file)}`,
    ...report.clusters.map(clusterMarkdown),
    ...markdownList('Agents left as they are', leftLines(report.left)),
    ...markdownList('What n8n 3 changes', v3Lines(report)),
    ...markdownList('To know or to do', report.notes.map(noteLine)),
  ];
  return parts.join('\n\n');
}

function clusterMarkdown(cluster: ClusterReport): string {
  const rows = cluster.tiers.map(({ agent, code, model, isNew }) =>
    [agent, code, model, isNew ? 'new' : 'there already'].map(escapeMarkdown).join(' | '),
  );
  const table = ['| agent | tier | model | its row |', '| --- | --- | --- | --- |', ...rows.map((row) => `| ${row} |`)];
  return [
    `### ${escapeMarkdown(cluster.node)}`,
    ...clusterFacts(cluster).map((fact) => `- ${escapeMarkdown(fact)}`),
    ...(rows.length === 0 ? [] : ['', ...table]),
    ...tierProposal(cluster).flatMap((line) => ['', `${escapeMarkdown(line)}.`]),
  ].join('\n');
}

function clusterLines(cluster: ClusterReport): readonly string[] {
  return [
    `  New node: ${oneLine(cluster.node)}`,
    ...[...clusterFacts(cluster), ...cluster.tiers.map(tierFact), ...tierProposal(cluster)].map(
      (fact) => `    ${oneLine(fact)}`,
    ),
  ];
}

/** Sentences without an end mark, so that they can stand in a list. */
function clusterFacts({ agents, router, removed, connected, unwired, tools }: ClusterReport): readonly string[] {
  const facts = [
    [`Stands for: ${names(agents)}`, agents.length > 0],
    [`${removed.includes(router ?? '') ? 'In place of' : 'Behind'} the router: ${router ?? ''}`, router !== undefined],
    [`Removed: ${names(removed)}`, removed.length > 0],
    [`Connected as before: ${names(connected)}`, connected.length > 0],
    [`No longer wired to it, and kept for others: ${names(unwired)}`, unwired.length > 0],
    [`Tools that are rows now: ${names(tools.map(({ node, code }) => `${node} (${code})`))}`, tools.length > 0],
  ] as const;
  return facts.flatMap(([fact, isTrue]) => (isTrue ? [fact] : []));
}

/** How to use tiers of the database instead of the new rows. */
function tierProposal({ tiers }: ClusterReport): readonly string[] {
  const codes = [...new Set(tiers.filter(({ isNew }) => isNew).map(({ code }) => code))];
  if (codes.length === 0) return [];
  const what =
    codes.length === 1
      ? 'a tier of your database instead of the new one'
      : 'tiers of your database instead of the new ones';
  return [`To use ${what}: --tier-map ${codes.map((code) => `${code}=TIER`).join(',')}`];
}

const tierFact = ({ agent, code, model, isNew }: TierReport): string =>
  `${agent}: tier ${code} with ${model}${isNew ? ', a new row' : ''}`;

const names = (list: readonly string[]): string => list.join(', ');

/** A line for each node that n8n's rules name. */
function v3Lines({ v3 = [], left }: MigrationReport): readonly string[] {
  return v3.map(({ node, rule, text, outcome }) => {
    const reasons = left.filter((agent) => agent.node === node).map(({ reason }) => reason);
    const why = outcome === 'left' ? ` (${names([...new Set(reasons)])})` : '';
    return `${node} (${rule}): ${text} Here it is ${outcome}${why}.`;
  });
}

/** A line for each reason, with all the agents that it holds for. */
function leftLines(left: readonly LeftAgent[]): readonly string[] {
  const agents = Map.groupBy(left, ({ reason, text, allowance }) => `(${reason}): ${text}${allowedBy(allowance)}`);
  return Array.from(agents, ([why, group]) => `${names(group.map(({ node }) => node))} ${why}`);
}

function noteLine({ node, text, allowance }: Note): string {
  return `${node}: ${text}${allowance === undefined ? '' : ` (allowed by ${allowance})`}`;
}

const allowedBy = (allowance: string | undefined): string =>
  allowance === undefined ? '' : ` Allow it with --allow ${allowance}.`;

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [`  ${title}:`, ...lines.map((line) => `    ${oneLine(line)}`)];
}

function markdownList(title: string, lines: readonly string[]): readonly string[] {
  if (lines.length === 0) return [];
  return [`### ${title}`, lines.map((line) => `- ${escapeMarkdown(line)}`).join('\n')];
}

/** Names of nodes are anybody's text: no line break, no control character of a terminal, nothing that turns text around. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+/gu, ' ').trim();
}

function escapeMarkdown(text: string): string {
  return oneLine(text).replace(/[\\`*_{}[\]<>#|~&]/g, String.raw`\$&`);
}
