import { n8nCommunityNodesPlugin } from '@n8n/eslint-plugin-community-nodes';
import n8nNodesBase from 'eslint-plugin-n8n-nodes-base';
import importOrder from 'eslint-plugin-simple-import-sort';
import tseslint from 'typescript-eslint';

/** Sizes are numbers here, not sentences in a guide. */
const sizes = {
  'max-lines': ['error', { max: 250, skipBlankLines: true, skipComments: true }],
  'max-lines-per-function': ['error', { max: 50, skipBlankLines: true, skipComments: true }],
  complexity: ['error', 10],
  'max-depth': ['error', 3],
  'max-params': ['error', 3],
};
const off = (...names) => Object.fromEntries(names.map((name) => [name, 'off']));

export default tseslint.config(
  { ignores: ['dist/**', '**/node_modules/**', '.cache/**'] },
  {
    files: ['**/*.{ts,mjs}'],
    plugins: { order: importOrder },
    rules: {
      // Node's own modules, packages, then ours; one block each, sorted.
      'order/imports': ['error', { groups: [['^\\u0000'], ['^node:'], ['^@?\\w'], ['^\\.']] }],
      'order/exports': 'error',
    },
  },
  {
    files: ['nodes/**/*.ts', 'credentials/**/*.ts', 'runtime/**/*.ts', 'test/**/*.ts'],
    extends: [...tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { project: ['./tsconfig.check.json'], tsconfigRootDir: import.meta.dirname } },
    rules: {
      ...sizes,
      '@typescript-eslint/dot-notation': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { ignoreRestSiblings: true }],
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-confusing-void-expression': [
        'error',
        { ignoreArrowShorthand: true, ignoreVoidOperator: true },
      ],
    },
  },
  {
    // Old servers speak SSE and nothing else. Credentials without an issuer stay on the server's own host (http-fetch.ts).
    files: ['runtime/mcp/sdk/connect-transport.ts', 'runtime/mcp/sdk/connect-auth.ts'],
    rules: off('@typescript-eslint/no-deprecated'),
  },
  // Data, not code: a list of parameters, codes or SQL is as long as it is.
  {
    files: [
      '**/contracts/*.ts',
      '**/description.ts',
      '**/options.ts',
      '**/errors/codes/*.ts',
      '**/*.generated.ts',
      'nodes/UniversalAiAgentAdmin/panel/*.ts',
    ],
    rules: off('max-lines', 'max-lines-per-function'),
  },
  {
    files: ['test/**/*.ts'],
    rules: {
      ...off(
        'max-lines-per-function',
        '@typescript-eslint/no-confusing-void-expression',
        '@typescript-eslint/explicit-module-boundary-types',
        '@typescript-eslint/unbound-method',
      ),
      'max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }],
      'no-restricted-imports': ['error', { name: 'fast-check', message: 'Take fc of test/support/properties.' }],
    },
  },
  { files: ['test/support/values/properties.ts'], rules: off('no-restricted-imports') },
  {
    // What `npm test` runs must hold on a machine of any speed. Pauses are measured by `npm run bench -- --pause`.
    files: ['test/{runtime,golden,package,integration,nodes,hostile}/**/*.test.ts'],
    ignores: [
      'test/hostile/queue-*',
      'test/integration/queue/queue-{failures,crashes,closing,stalls}.test.ts',
      'test/integration/{cli/cli-worker,ledger/outbox,tasks/callbacks-failures,tasks/callbacks-crashes}.test.ts',
    ],
    rules: {
      'no-restricted-syntax': [
        'error',
        ...[
          'MemberExpression[object.name="performance"][property.name="now"]',
          'MemberExpression[object.name="process"][property.name="hrtime"]',
          // Making a date from now does not measure.
          'CallExpression[callee.object.name="Date"][callee.property.name="now"]:not(NewExpression CallExpression)',
        ].map((selector) => ({ selector, message: 'No test measures time: wait for a state that the product shows.' })),
      ],
    },
  },
  {
    files: ['scripts/**/*.mjs', 'examples/**/*.mjs', 'bench/**/*.mjs', 'gulpfile.js'],
    rules: sizes,
  },
  {
    // Without n8n Cloud: a node that opens sockets cannot run there. Builders must be able to pick the
    // credentials that n8n already has, hence the two rules that are off (docs/adr/0001).
    ...n8nCommunityNodesPlugin.configs.recommendedWithoutN8nCloudSupport,
    files: ['nodes/**/*.ts', 'credentials/**/*.ts'],
    rules: {
      ...n8nCommunityNodesPlugin.configs.recommendedWithoutN8nCloudSupport.rules,
      '@n8n/community-nodes/no-credential-reuse': 'off',
      '@n8n/community-nodes/valid-credential-references': 'off',
    },
  },
  {
    files: ['nodes/**/*.ts'],
    plugins: { 'n8n-nodes-base': n8nNodesBase },
    rules: {
      ...n8nNodesBase.configs.nodes.rules,
      // n8n's own Postgres credential is named without the suffix that this one asks for.
      ...off('n8n-nodes-base/node-class-description-credentials-name-unsuffixed'),
      // These two ask for the text 'main', the newer plugin above for NodeConnectionTypes.Main.
      ...off(
        'n8n-nodes-base/node-class-description-inputs-wrong-regular-node',
        'n8n-nodes-base/node-class-description-outputs-wrong',
      ),
    },
  },
  {
    // A model must not administer.
    files: ['nodes/UniversalAiAgentAdmin/UniversalAiAgentAdmin.node.ts'],
    rules: off('@n8n/community-nodes/node-usable-as-tool'),
  },
  {
    // The fields of a server stand in the order in which a person fills them in.
    files: ['nodes/UniversalAiAgent/read/mcp-servers.ts'],
    rules: off('n8n-nodes-base/node-param-fixed-collection-type-unsorted-items'),
  },
  {
    // The node tests the key: testedBy in description.ts, which this rule does not see.
    files: ['credentials/*.ts'],
    rules: off('@n8n/community-nodes/credential-test-required'),
  },
);
