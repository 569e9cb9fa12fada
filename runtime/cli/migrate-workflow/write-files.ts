import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { RuntimeError } from '../../errors/runtime-error';
import { errorText } from '../../errors/to-runtime-error';

/** True for a folder that is there. */
export function isFolder(place: string): boolean {
  return statSync(place, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** The digest of a file, undefined when there is none. Throws OUTPUT_FAILED for what cannot be read, such as a folder. */
export function sha256At(file: string): string | undefined {
  const content = contentAt(file);
  return content && createHash('sha256').update(content).digest('hex');
}

/** Throws OUTPUT_EXISTS when another content would be lost. */
export function refuseOther(file: string, content: string | Uint8Array): void {
  if (contentAt(file) !== undefined && !holds(file, content)) throw new RuntimeError('OUTPUT_EXISTS', { file });
}

/** True for a file of these very bytes. Throws OUTPUT_FAILED. */
export function holds(file: string, content: string | Uint8Array): boolean {
  return contentAt(file)?.equals(Buffer.from(content)) === true;
}

function contentAt(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw failed(file, error);
  }
}

/**
 * Writes a file as a whole or not at all; one that holds the same bytes is not touched. Synchronous, so that no signal
 * is heard between the temporary file and its last name. Throws OUTPUT_FAILED.
 */
export function writeWhole(file: string, content: string | Uint8Array): void {
  if (holds(file, content)) return;
  const place = realPlace(file);
  const temporary = path.join(path.dirname(place), `.${path.basename(place)}.${process.pid}.tmp`);
  try {
    mkdirSync(path.dirname(place), { recursive: true });
    writeFileSync(temporary, content, { flag: 'wx' });
    keepMode(place, temporary);
    renameSync(temporary, place);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw failed(file, error);
  }
}

/** A place with its links resolved: what a link leads to is written, not the link. */
export function realPlace(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return path.resolve(file);
  }
}

function keepMode(place: string, temporary: string): void {
  const existing = statSync(place, { throwIfNoEntry: false });
  if (existing !== undefined) chmodSync(temporary, existing.mode);
}

function failed(file: string, error: unknown): RuntimeError {
  return new RuntimeError('OUTPUT_FAILED', { file, reason: errorText(error) }, { cause: error });
}
