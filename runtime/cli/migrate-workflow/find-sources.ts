import { lstatSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import path from 'node:path';

import { describeError, type ErrorSummary, isRuntimeError } from '../../errors/runtime-error';
import { errorText } from '../../errors/to-runtime-error';
import { terminal } from '../terminal';
import { refuseLarge, unreadable } from './read-workflow';
import { realPlace } from './write-files';

/** A workflow, or a list of them, to migrate. */
export interface Source {
  /** Where it belongs below OUT: relative, with forward slashes. */
  readonly path: string;
  /** What messages call it. */
  readonly label: string;
  /** The file that it stands in, links resolved. */
  readonly file?: string;
  /** Throws WORKFLOW_UNREADABLE. */
  readonly read: () => Promise<Uint8Array>;
}

export interface Found {
  readonly sources: readonly Source[];
  /** What was asked for and is not there, by name. */
  readonly failures: readonly { readonly label: string; readonly error: ErrorSummary }[];
  /** True when a folder was named: then OUT is one, too. */
  readonly hasFolder: boolean;
}

interface Search {
  readonly sources: Source[];
  readonly failures: Found['failures'][number][];
  /** Resolved folders and files that are not looked into. */
  readonly skipped: ReadonlySet<string>;
  readonly seenFolders: Set<string>;
}

/**
 * The workflows that words of the command line name: files, folders with everything below them, `-` for standard input.
 * In folders only `.json` files count; hidden entries, `node_modules` and `skip` (such as OUT) are passed over.
 */
export function findSources(words: readonly string[], skip: readonly string[]): Found {
  const skipped = new Set(skip.map(realPlace));
  const search: Search = { sources: [], failures: [], skipped, seenFolders: new Set() };
  let hasFolder = false;
  for (const word of words) {
    if (word === '-') search.sources.push(standardInput());
    else hasFolder = addWord(search, word) || hasFolder;
  }
  return { sources: search.sources, failures: search.failures, hasFolder };
}

/** True for a folder. */
function addWord(search: Search, word: string): boolean {
  try {
    if (!statSync(word).isDirectory()) {
      search.sources.push(fileSource(word, path.basename(word)));
      return false;
    }
    const before = search.sources.length + search.failures.length;
    addFolder(search, word, '');
    if (search.sources.length + search.failures.length === before) {
      addFailure(search, word, 'there is no .json file in this folder');
    }
    return true;
  } catch (error) {
    addFailure(search, word, errorText(error));
    return false;
  }
}

function addFolder(search: Search, folder: string, below: string): void {
  const real = realpathSync(folder);
  // A link to a folder above it would lead in circles.
  if (search.seenFolders.has(real)) return;
  search.seenFolders.add(real);
  const names = readdirSync(folder)
    .filter((name) => !name.startsWith('.') && name !== 'node_modules')
    .sort();
  for (const name of names) {
    const place = path.join(folder, name);
    try {
      addEntry(search, place, below === '' ? name : `${below}/${name}`);
    } catch (error) {
      // A link that leads nowhere, or a folder that may not be read.
      const isAsked = name.toLowerCase().endsWith('.json') || lstatSync(place).isDirectory();
      if (isAsked) addFailure(search, place, errorText(error));
    }
  }
}

function addEntry(search: Search, place: string, below: string): void {
  const entry = statSync(place);
  if (search.skipped.has(realpathSync(place))) return;
  if (entry.isDirectory()) addFolder(search, place, below);
  else if (entry.isFile() && below.toLowerCase().endsWith('.json')) {
    search.sources.push(fileSource(place, below));
  }
}

function fileSource(place: string, below: string): Source {
  return {
    path: below,
    label: place,
    file: realpathSync(place),
    read: () => Promise.resolve().then(() => readWhole(place)),
  };
}

function readWhole(place: string): Uint8Array {
  try {
    const entry = statSync(place);
    // A pipe or a device could have no end.
    if (!entry.isFile()) throw new Error('it is not a file');
    refuseLarge(place, entry.size);
    return readFileSync(place);
  } catch (error) {
    throw isRuntimeError(error) ? error : unreadable(place, errorText(error), error);
  }
}

function standardInput(): Source {
  let bytes: Promise<Uint8Array> | undefined;
  const label = 'standard input';
  return { path: 'workflow.json', label, read: () => (bytes ??= readBounded(label, terminal().stdin)) };
}

/** What is piped in may have no end. */
async function readBounded(label: string, input: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of input) {
    size += chunk.length;
    refuseLarge(label, size);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function addFailure(search: Search, label: string, reason: string): void {
  search.failures.push({ label, error: describeError('WORKFLOW_UNREADABLE', { file: label, reason }) });
}
