/** @type {import('jest').Config} */
const shared = {
  rootDir: __dirname,
  testEnvironment: 'node',
  setupFilesAfterEnv: ['<rootDir>/test/support/setup/defaults.ts'],
  transform: {
    '\\.(ts|mts|mjs|sql)$': '<rootDir>/test/support/setup/esbuild-transform.cjs',
    'node_modules/.+\\.js$': '<rootDir>/test/support/setup/esbuild-transform.cjs',
  },
  // Packages that come as ES modules only.
  transformIgnorePatterns: [
    'node_modules/(?!(p-limit|p-retry|is-network-error|yocto-queue|string-width|get-east-asian-width|strip-ansi|ansi-regex|d3-[a-z-]+|internmap)/)',
  ],
  modulePathIgnorePatterns: [
    '<rootDir>/dist',
    '<rootDir>/test/e2e/node_modules',
    '<rootDir>/test/mcp/node_modules',
    '<rootDir>/bench/node_modules',
  ],
};

const suite = (displayName, folders, more = {}) => ({
  ...shared,
  displayName,
  testMatch: folders.map((folder) => `<rootDir>/test/${folder}/**/*.test.ts`),
  ...more,
});
const withPostgres = {
  globalSetup: '<rootDir>/test/support/setup/global-setup.mjs',
  globalTeardown: '<rootDir>/test/support/setup/global-teardown.mjs',
};

const inN8n = {
  globalSetup: '<rootDir>/test/e2e/support/global-setup.mjs',
  globalTeardown: '<rootDir>/test/e2e/support/global-teardown.mjs',
};

// Whole minutes of workers that are killed, stopped or left without a server.
const slow = [
  'hostile/queue-[a-z]+',
  'integration/(cli/cli-worker|ledger/outbox)',
  'integration/queue/queue-(failures|crashes|closing|stalls)',
  'integration/tasks/callbacks-(failures|crashes)',
];

module.exports = {
  projects: [
    suite('unit', ['runtime', 'golden', 'package']),
    suite('integration', ['integration', 'nodes', 'hostile'], {
      ...withPostgres,
      testPathIgnorePatterns: ['/node_modules/', ...slow.map((name) => `/test/${name}[.]test[.]ts$`)],
    }),
    suite('smoke', ['smoke'], inN8n),
    suite('e2e', ['e2e'], inN8n),
    suite('long', ['long'], {
      ...withPostgres,
      testMatch: undefined,
      testRegex: ['long/.*[.]test[.]ts$', ...slow.map((name) => `${name}[.]test[.]ts$`)].map((name) => `/test/${name}`),
    }),
  ],
};
