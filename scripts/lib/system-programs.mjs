// Programs that npm does not bring: found on the PATH, or installed with the system's package manager.
import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';

/**
 * @typedef {object} SystemProgram
 * @property {string} title
 * @property {string[]} names any of these will do
 * @property {Record<string, string[]>} packages what to install, by package manager; the first that works will do
 * @typedef {{ env?: NodeJS.ProcessEnv, uid?: number | undefined }} Surroundings
 */

/** @type {SystemProgram} */
export const REDIS = {
  title: 'Redis (or Valkey)',
  names: ['redis-server', 'valkey-server'],
  packages: { 'apt-get': ['redis-server', 'valkey-server'], dnf: ['valkey', 'redis'], brew: ['redis'] },
};

/** @type {SystemProgram} */
export const CHROMIUM = {
  title: 'Chromium (or Google Chrome)',
  names: ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'],
  packages: { 'apt-get': ['chromium', 'chromium-browser'], dnf: ['chromium'] },
};

/** How each package manager installs without asking. Only Homebrew refuses to run as root. */
const MANAGERS = {
  'apt-get': {
    prepare: ['update'],
    // A machine that has just started may be busy with its own updates.
    install: ['install', '-y', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=300'],
    asRoot: true,
  },
  dnf: { install: ['install', '-y'], asRoot: true },
  brew: { install: ['install'], asRoot: false },
};

/**
 * Looks for programs, installs what is missing where that is possible without a question, and otherwise ends this process
 * with one message about all of them.
 * @param {SystemProgram[]} programs
 * @param {{ log: (line: string) => void }} options
 * @returns {Promise<void>}
 */
export async function requirePrograms(programs, options) {
  try {
    await ensurePrograms(programs, options);
  } catch (error) {
    process.stderr.write(`\n${/** @type {Error} */ (error).message}\n`);
    process.exit(1);
  }
}

/**
 * @param {SystemProgram[]} programs
 * @param {Surroundings & { log: (line: string) => void }} options
 * @returns {Promise<void>}
 */
export async function ensurePrograms(programs, { log, ...surroundings }) {
  const complaints = [];
  for (const program of programs) {
    if (findProgram(program, surroundings) !== undefined) continue;
    const failures = await install(program, { log, ...surroundings });
    if (findProgram(program, surroundings) === undefined) complaints.push(missing(program, surroundings), ...failures);
  }
  if (complaints.length > 0) throw new Error(complaints.join('\n'));
}

/**
 * The path of a program that has to be there by now.
 * @param {SystemProgram} program
 * @returns {string}
 */
export function programPath(program) {
  const found = findProgram(program, {});
  if (found === undefined) throw new Error(missing(program, {}));
  return found;
}

/**
 * @param {SystemProgram} program
 * @param {Surroundings} surroundings
 */
function findProgram({ names }, { env = process.env }) {
  const directories = (env.PATH ?? '').split(path.delimiter).filter(Boolean);
  return names.flatMap((name) => directories.map((directory) => path.join(directory, name))).find(isExecutable);
}

/** @param {string} file */
function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * @param {SystemProgram} program
 * @param {Surroundings} surroundings
 */
function managerFor({ packages }, surroundings) {
  return Object.keys(packages).find((name) => findProgram({ names: [name] }, surroundings) !== undefined);
}

/**
 * @param {SystemProgram} program
 * @param {Surroundings & { log: (line: string) => void }} options
 * @returns {Promise<string[]>} what went wrong
 */
async function install(program, { log, ...surroundings }) {
  const name = managerFor(program, surroundings);
  if (name === undefined) return [];
  const manager = MANAGERS[name];
  const prefix = await rightsPrefix(manager, surroundings);
  if (prefix === undefined) return [];
  const failures = [];
  /** @type {(...args: string[]) => Promise<unknown>} */
  const manage = (...args) =>
    run([...prefix, name, ...args], surroundings).catch((error) =>
      failures.push(`${name} ${args[0]}: ${lastLines(error)}`),
    );
  // One list of packages that cannot be read does not keep the others from being of use.
  if (manager.prepare) await manage(...manager.prepare);
  for (const wanted of program.packages[name]) {
    log(`Installing ${wanted} with ${name} ...`);
    await manage(...manager.install, wanted);
    if (findProgram(program, surroundings) !== undefined) break;
  }
  return failures;
}

/**
 * What stands before the manager's command so that it has the rights it needs; nothing where a password would be asked.
 * @param {{ asRoot: boolean }} manager
 * @param {Surroundings} surroundings
 */
async function rightsPrefix({ asRoot }, surroundings) {
  const { uid = process.getuid?.() } = surroundings;
  if (asRoot === (uid === 0)) return [];
  if (!asRoot) return undefined;
  const sudo = ['sudo', '-n'];
  try {
    await run([...sudo, 'true'], surroundings);
    return sudo;
  } catch {
    return undefined;
  }
}

/**
 * @param {string[]} command
 * @param {Surroundings} surroundings
 */
async function run([command, ...args], { env = process.env }) {
  await promisify(execFile)(command, args, {
    env: { ...env, DEBIAN_FRONTEND: 'noninteractive' },
    maxBuffer: 64 * 1024 * 1024,
  });
}

/** @param {unknown} error */
function lastLines(error) {
  const { stderr, message } = /** @type {{ stderr?: string, message: string }} */ (error);
  return (stderr?.trim() || message).split('\n').slice(-5).join('\n');
}

/**
 * @param {SystemProgram} program
 * @param {Surroundings} surroundings
 */
function missing(program, surroundings) {
  const manager = managerFor(program, surroundings);
  const how =
    manager === undefined
      ? "Install it with your system's package manager, and put it on the PATH."
      : `Install it: ${MANAGERS[manager].asRoot ? 'sudo ' : ''}${manager} install ${program.packages[manager][0]}`;
  return `${program.title} is missing: none of ${program.names.join(', ')} is on the PATH. ${how}`;
}
