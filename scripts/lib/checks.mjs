/** What must hold before anything is run. */
export const CHECKS = [
  { name: 'format', program: 'prettier/bin/prettier.cjs', args: ['--check', '--log-level', 'warn', '.'] },
  { name: 'lint', program: 'eslint/bin/eslint.js', args: ['.', '--max-warnings', '0'] },
  { name: 'types', program: 'typescript/bin/tsc', args: ['-p', 'tsconfig.check.json'] },
  {
    name: 'import rules',
    program: 'dependency-cruiser/bin/dependency-cruiser.mjs',
    args: ['--config', '.dependency-cruiser.cjs', 'runtime', 'nodes'],
  },
  { name: 'generated docs', program: '../scripts/docs.mjs', args: ['--check'] },
];

export const BUILD = { name: 'build', program: 'gulp/bin/gulp.js', args: ['--silent'] };

export const CONFORMANCE = { name: 'protocol conformance', program: '../scripts/conformance.mjs' };

/** @param {string[]} projects names in jest.config.js
 * @param {...string} more options of jest */
export function jest(projects, ...more) {
  return {
    name: `${projects.join(' and ')} tests`,
    program: 'jest/bin/jest.js',
    args: ['--selectProjects', ...projects, ...more],
  };
}
