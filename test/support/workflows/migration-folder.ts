import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import type { Workflow } from '../../../runtime/workflow-migration/contract';
import { type CliOptions, type CliOutcome, runCli } from '../worlds/cli';
import { attach, chain, node, workflow } from './workflow-builder';
import { agent, answer, openRouter, prompts } from './workflow-parts';

/** An exported workflow with one agent, on a model that is in none of the five tiers. */
export function anExport(name = 'Shop', model = 'mistralai/mistral-small'): Workflow {
  return workflow(name, {
    parts: [
      node('Start', 'base.manualTrigger@1'),
      agent('AI Agent', '3.1', prompts('={{ $json.message }}', 'Be brief.')),
      openRouter('Model', model, { temperature: 0.4 }),
      answer(),
    ],
    wires: [...chain('Start', 'AI Agent', 'Answer'), ...attach('Model', 'ai_languageModel', ['AI Agent'])],
  });
}

/** One with nothing to migrate. */
export function aPlainExport(name = 'Plain'): Workflow {
  return workflow(name, {
    parts: [node('Start', 'base.manualTrigger@1'), node('Wait', 'base.noOp@1')],
    wires: chain('Start', 'Wait'),
  });
}

export interface MigrationFolder {
  /** The absolute path of a name in it. */
  readonly at: (name: string) => string;
  readonly write: (name: string, content: unknown) => string;
  readonly read: (name: string) => string;
  /** Every file, with the folders above it. */
  readonly files: () => readonly string[];
  /** `migrate-workflow` with these words. */
  readonly migrate: (args: readonly string[], options?: CliOptions) => Promise<CliOutcome>;
  readonly remove: () => void;
}

/** A new folder for workflows. What is written as an object becomes JSON, as n8n's editor writes it. */
export function makeMigrationFolder(): MigrationFolder {
  const root = mkdtempSync(path.join(tmpdir(), 'migrate-workflow-'));
  const at = (name: string): string => path.join(root, name);
  return {
    at,
    write: (name, content) => {
      mkdirSync(path.dirname(at(name)), { recursive: true });
      const isText = typeof content === 'string' || content instanceof Uint8Array;
      writeFileSync(at(name), isText ? content : JSON.stringify(content, null, 2));
      return at(name);
    },
    read: (name) => readFileSync(at(name), 'utf8'),
    files: () =>
      readdirSync(root, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)))
        .sort(),
    migrate: (args, options) => runCli(['migrate-workflow', ...args], options),
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}

/** The lines for files that failed. */
export function failures({ stderr }: CliOutcome): readonly {
  readonly file: string;
  readonly code: string;
  readonly message: string;
  readonly hint: string;
}[] {
  const lines = stderr.split('\n').filter((line) => line.startsWith('{'));
  return lines.map((line) => JSON.parse(line) as ReturnType<typeof failures>[number]);
}

/** The types of a workflow's nodes. */
export function nodeTypes(text: string): readonly string[] {
  return (JSON.parse(text) as Workflow).nodes.map(({ type }) => type.replace(/^.*\./, ''));
}
