import { randomBytes } from 'node:crypto';

/** `keygen`: a new vault key on standard output. */
export function keygenCommand(): number {
  process.stdout.write(`${randomBytes(32).toString('base64')}\n`);
  return 0;
}
