/**
 * Who may import whom, as rules. From the ground up: contracts, errors and util; the loop, pure; the parts, strangers to one
 * another; storage; toolsets and the ledger, each of which joins a few parts; the run; tasks; compose, which sees everything; the doors.
 */
const PARTS = 'agents|skills|tenants|models|tools|permissions|mcp|billing|vault|queue|workflow-migration|config';
const part = `^runtime/(${PARTS})/`;
const own = (...folders) => `^runtime/(${folders.join('|')})/`;

const rule = (name, from, to) => ({ name, severity: 'error', from, to });
/** Files under `from` may import these folders of the runtime, and nothing else of it. */
const only = (name, from, allowed) => rule(name, { path: from }, { path: '^(runtime|nodes)/', pathNot: allowed });
/** These packages are used under `home` and nowhere else. */
const home = (packages, folders) =>
  rule(
    `${packages.split('|')[0].replaceAll('/', '-')}-has-a-home`,
    { path: '^(runtime|nodes)/', pathNot: `^runtime/(${folders})/` },
    { path: `node_modules/(${packages})/` },
  );

module.exports = {
  forbidden: [
    rule('no-cycles', {}, { circular: true }),
    rule(
      'nodes-use-the-front-door',
      { path: '^nodes/' },
      { path: '^runtime/', pathNot: '^runtime/(host|worker)[.]ts$' },
    ),
    rule(
      'nodes-are-strangers',
      { path: '^nodes/([^/]+)/', pathNot: '^nodes/shared/' },
      { path: '^nodes/', pathNot: '^nodes/($1|shared)/' },
    ),
    rule('runtime-knows-no-n8n', { path: '^runtime/' }, { path: '^nodes/|node_modules/(n8n-|@n8n/)' }),
    only('contracts-are-types', own('contracts'), own('contracts', 'errors', 'util')),
    only('errors-are-leaves', own('errors'), own('errors')),
    only('util-is-generic', own('util'), own('util', 'errors')),
    only('loop-is-pure', own('loop'), own('loop', 'contracts', 'errors', 'util')),
    rule('loop-needs-no-package', { path: own('loop') }, { path: 'node_modules/' }),
    only('storage-knows-no-part', own('storage'), own('storage', 'contracts', 'errors', 'util')),
    rule('parts-are-strangers', { path: part }, { path: '^runtime/', pathNot: `^runtime/($1|contracts|errors|util)/` }),
    only('ledger-knows-money', own('ledger'), own('ledger', 'billing', 'contracts', 'errors', 'util')),
    only(
      'toolsets-join-tools',
      own('toolsets'),
      own(
        'toolsets',
        'tools',
        'agents',
        'skills',
        'mcp',
        'permissions',
        'ledger',
        'tasks',
        'contracts',
        'errors',
        'util',
      ),
    ),
    only('tasks-know-no-part', own('tasks'), own('tasks', 'contracts', 'errors', 'util')),
    rule(
      'a-run-touches-no-storage',
      { path: '^runtime/(run/|agent[.]ts)' },
      { path: '^runtime/(storage|queue|cli|compose|admin|vault|workflow-migration)/' },
    ),
    rule(
      'nothing-but-the-agent-runs',
      { path: '^runtime/', pathNot: '^runtime/(run|compose)/|^runtime/(agent|index)[.]ts$' },
      { path: '^runtime/(run/|agent[.]ts)' },
    ),
    rule(
      'compose-is-for-doors',
      { path: '^runtime/', pathNot: '^runtime/(compose|cli)/|^runtime/[^/]+[.]ts$' },
      { path: own('compose') },
    ),
    // Administration checks what it writes with the parts that will read it.
    rule(
      'admin-knows-no-run',
      { path: own('admin') },
      { path: '^runtime/(run|loop|queue|tasks|cli|compose|config|ledger|workflow-migration)/' },
    ),
    rule(
      'the-command-line-holds-no-decision',
      { path: own('cli') },
      { path: '^runtime/(run|loop|models|tools|toolsets|permissions|billing|tenants|ledger)/' },
    ),
    only('testing-stands-in-for-ports', own('testing'), own('testing', 'billing', 'contracts', 'errors', 'util')),
    home('pg', 'storage'),
    home('openai', 'models'),
    home('@modelcontextprotocol/client', 'mcp'),
    rule(
      'the-mcp-sdk-has-a-home',
      { path: '^runtime/', pathNot: '^runtime/mcp/sdk/' },
      { path: 'node_modules/@modelcontextprotocol/' },
    ),
    home('ioredis', 'storage'),
    home('bullmq|prom-client', 'queue'),
    home('linkedom|@mozilla/readability', 'tools'),
    home('ipaddr[.]js|gpt-tokenizer', 'util'),
    home('undici', 'models|tools|mcp'),
    home('ajv', 'tools'),
    home('libpg-query', 'tools'),
    home('re2js', 'tools|permissions'),
    home('big[.]js', 'billing'),
    home('d3-scale', 'admin'),
    home('yaml', 'skills'),
    rule('not-to-tests', { path: '^(runtime|nodes)/' }, { path: '^(test|examples|bench|scripts)/' }),
    rule('resolvable', {}, { couldNotResolve: true }),
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['require', 'node', 'types'] },
  },
};
