import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

export interface UnpackedPackage {
  /** Has no node_modules above it. */
  readonly directory: string;
  readonly size: number;
  readonly files: readonly { readonly path: string }[];
  readonly file: (name: string) => string;
  readonly remove: () => void;
}

/** The package as npm would publish it, unpacked into a temporary folder. */
export function unpackPackage(): UnpackedPackage {
  const directory = mkdtempSync(path.join(tmpdir(), 'universal-ai-agent-package-'));
  const output = execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', directory], {
    cwd: path.resolve(__dirname, '../../..'),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [{ size, files }] = JSON.parse(output) as [Pick<UnpackedPackage, 'size' | 'files'>];
  const tarball = readdirSync(directory).find((name) => name.endsWith('.tgz'));
  execFileSync('tar', ['xzf', path.join(directory, tarball ?? ''), '-C', directory]);
  return {
    directory,
    size,
    files,
    file: (name) => path.join(directory, 'package', name),
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}
