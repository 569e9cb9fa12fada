const PRETTIER_CACHE = ['--cache', '--cache-location', '.cache/prettier'];
const ESLINT_CACHE = ['--cache', '--cache-strategy', 'content', '--cache-location', '.cache/eslint'];
const TYPES_CACHE = ['--incremental', '--tsBuildInfoFile', '.cache/types.tsbuildinfo'];

/**
 * What must hold before anything is run. What is kept under .cache makes the next run quicker. Lint rules that ask types of
 * other files do not see a change there in a file that is kept: a clean clone does.
 */
export const CHECKS = [
  {
    name: 'format',
    program: 'prettier/bin/prettier.cjs',
    args: ['--check', '--log-level', 'warn', ...PRETTIER_CACHE, '.'],
  },
  { name: 'lint', program: 'eslint/bin/eslint.js', args: ['.', '--max-warnings', '0', ...ESLINT_CACHE] },
  { name: 'types', program: 'typescript/bin/tsc', args: ['-p', 'tsconfig.check.json', ...TYPES_CACHE] },
  {
    name: 'import rules',
    program: 'dependency-cruiser/bin/dependency-cruiser.mjs',
    args: ['--config', '.dependency-cruiser.cjs', 'runtime', 'nodes'],
  },
  { name: 'generated docs', program: '../scripts/docs.mjs', args: ['--check'] },
];

export const BUILD = { name: 'build', program: 'gulp/bin/gulp.js', args: ['--silent'] };

export const CONFORMANCE = { name: 'protocol conformance', program: '../scripts/conformance.mjs' };

/** Red at five times what an input may hold the event loop. */
export const PAUSES = {
  name: 'pauses of the event loop',
  program: '../scripts/bench.mjs',
  args: ['--pause', '--quick'],
};
