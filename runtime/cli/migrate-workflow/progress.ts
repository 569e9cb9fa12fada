import type { MigrationReport } from '../../workflow-migration/contract';
import { renderText } from '../../workflow-migration/rewrite/render-report';
import { writeLine } from '../output';
import { terminal } from '../terminal';
import type { FailedFile, FileOutcome } from './migrate-source';

const EVERY_MS = 1000;

/** Tells on standard error how far a long run is: nothing for what is done within a second. */
export function reportProgress(total: number): (done: number) => void {
  let toldAt = Date.now();
  return (done) => {
    if (Date.now() - toldAt < EVERY_MS) return;
    toldAt = Date.now();
    terminal().stderr.write(`${done} of ${total}\n`);
  };
}

/** One JSON line on standard error: which file, and what is wrong with it. */
export function printFailure({ source, error: { code, message, hint } }: FailedFile): void {
  writeLine(terminal().stderr, { file: source.label, code, message, hint });
}

/** Ends a run: a line for each failure, what was done with a single file, and the summary. Gives the exit code. */
export function printEnd(outcomes: readonly FileOutcome[], people: NodeJS.WritableStream): number {
  const failures = outcomes.filter((outcome) => outcome.kind === 'failed');
  failures.forEach(printFailure);
  if (outcomes.length === 1) people.write(renderOutcomes(outcomes));
  people.write(summaryOf(outcomes));
  return failures.length === 0 ? 0 : 1;
}

/** Ends a dry run, of which there is no report: what would be done with every file that has agents, and the same. */
export function printDryEnd(outcomes: readonly FileOutcome[], people: NodeJS.WritableStream): number {
  people.write('Dry run: nothing is written. A run without --dry-run would do this:\n');
  if (outcomes.length > 1) people.write(renderOutcomes(outcomes.filter(hasAgents)));
  return printEnd(outcomes, people);
}

function hasAgents(outcome: FileOutcome): boolean {
  return outcome.kind !== 'failed' && outcome.reports.some(({ clusters, left }) => clusters.length + left.length > 0);
}

function renderOutcomes(outcomes: readonly FileOutcome[]): string {
  return outcomes
    .flatMap((outcome) => (outcome.kind === 'failed' ? [] : [outcome]))
    .flatMap(({ source, reports }) => reports.map((report) => renderText({ file: source.label, report })))
    .join('');
}

/** What became of all files, with the reasons of agents that were left; ends with a line break. */
function summaryOf(outcomes: readonly FileOutcome[]): string {
  const having = (kind: FileOutcome['kind']): number => outcomes.filter((outcome) => outcome.kind === kind).length;
  const lines = [
    `${plural(outcomes.length, 'file')}: ${having('migrated')} migrated, ${having('left')} left, ${having('failed')} failed.`,
    ...reasonLines(outcomes),
    ...routerLines(outcomes),
  ];
  return `${lines.join('\n')}\n`;
}

function reasonLines(outcomes: readonly FileOutcome[]): readonly string[] {
  const reasons = reportsOf(outcomes).flatMap(reasonsOf);
  if (reasons.length === 0) return [];
  const groups = [...Map.groupBy(reasons, (reason) => reason)].sort(([, one], [, other]) => other.length - one.length);
  const listed = groups.map(([reason, { length }]) => `${reason} (${length})`);
  return [`Agents left as they are, by reason: ${listed.join(', ')}.`];
}

/** The routers that another option drops too: a line for each option. */
function routerLines(outcomes: readonly FileOutcome[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const { needs = [] } of reportsOf(outcomes).flatMap(({ notes }) => notes)) {
    if (needs.length > 0) counts.set(needs.join(','), (counts.get(needs.join(',')) ?? 0) + 1);
  }
  return [...counts].map(([option, count]) =>
    count === 1
      ? `1 router stays: add --allow ${option} to drop it too. Its note says what that changes.`
      : `${count} routers stay: add --allow ${option} to drop them too. Their notes say what that changes.`,
  );
}

function reportsOf(outcomes: readonly FileOutcome[]): readonly MigrationReport[] {
  return outcomes.flatMap((outcome) => (outcome.kind === 'failed' ? [] : outcome.reports));
}

/** Each reason once for each agent. */
function reasonsOf({ left }: MigrationReport): readonly string[] {
  const agents = new Map(left.map((agent) => [JSON.stringify([agent.node, agent.reason]), agent.reason]));
  return [...agents.values()];
}

export function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}
