import { runSteps } from './lib/run-steps.mjs';

await runSteps([
  { name: 'lint', program: 'eslint/bin/eslint.js', args: ['.', '--fix'] },
  { name: 'format', program: 'prettier/bin/prettier.cjs', args: ['--write', '--log-level', 'warn', '.'] },
]);
