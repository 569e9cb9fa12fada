import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const ROOT = path.join(__dirname, '../..');
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');
const under = (folder: string, ending: string): string[] =>
  readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => `${folder}/${name}`);

const sources = [...under('nodes', '.ts'), ...under('credentials', '.ts')].map(read).join('\n');
/** What the editor shows as the name of a parameter, an option, a credential or a node. */
const shown = new Set(Array.from(sources.matchAll(/displayName(?:: | = )\s*'([^']+)'/g), ([, name = '']) => name));
/** `Price: Sync`, as the pages name an operation of the Admin node. */
const values = new Set(Array.from(sources.matchAll(/name: '([^']+)'/g), ([, name = '']) => name));
const pages = ['README.md', 'SECURITY.md', 'CHANGELOG.md', ...under('docs', '.md')].filter(
  (page) => !page.startsWith('docs/adr/'),
);

const NAME =
  /\b(?:Tools|Limit|Output|Callback|Queue|Model): [A-Z][A-Za-z]*(?: (?:[A-Z][A-Za-z]*|a|of|per|or)\b)*(?: \(USD\))?/g;

it.each(pages)('%s names options as the panel does', (page) => {
  const named = Array.from(read(page).replaceAll('\n', ' ').matchAll(NAME), ([name]) => name);
  const unknown = named.filter((name) => !shown.has(name) && !name.split(': ').every((part) => values.has(part)));
  expect(unknown).toEqual([]);
});

it('the credentials of the README bear the names that the editor shows', () => {
  const own = Array.from(
    read('README.md').matchAll(/Universal AI Agent (?:Vault|SQL)[A-Za-z ]*[A-Za-z]/g),
    ([name]) => name,
  );
  expect(own.length).toBeGreaterThan(0);
  expect(own.filter((name) => !shown.has(name))).toEqual([]);
});

/** Each was said once, and was not so, or is so no more. */
const UNTRUE = [
  /no, the answer comes as a whole/,
  /answers are not streamed/,
  /neither the bill nor the audit/,
  /killed ones are replaced/,
  /most used and the slowest/,
  /as one message/,
  /Tier 4: Pro/,
  /the next (run|call) (makes new ones|has none)/,
];

it.each([...pages, 'nodes/UniversalAiAgentAdmin/panel/properties.generated.ts'])(
  '%s says nothing that is known to be untrue',
  (page) => {
    const text = read(page).replaceAll('\n', ' ');
    expect(UNTRUE.filter((claim) => claim.test(text))).toEqual([]);
  },
);

it('the tiers and prices that the README names are those of the migrations', () => {
  const [, tier = '', model = ''] = /tier _(\w+): ([\w./-]+)_/.exec(read('README.md').replaceAll(/\s+/g, ' ')) ?? [];
  expect(read('runtime/contracts/built-in-tiers.ts').replaceAll(/\s+/g, ' ')).toContain(
    `name: '${tier}', modelId: '${model}'`,
  );
});

/** Sentences about streaming, credentials, sessions and the bill, each with the test that shows it. */
const HELD: readonly (readonly [string, string, string, string])[] = [
  [
    'README.md',
    'answers that stream word by word | yes | yes |',
    'test/e2e/chat-stream.test.ts',
    '%s shows the answer while the model writes it, and the bill is that of the whole',
  ],
  [
    'README.md',
    'In a chat that streams, an answer with a required output format appears at once',
    'test/nodes/streaming.test.ts',
    'sends the answer to a chat that streams, as one message for each item',
  ],
  [
    'docs/quickstart.md',
    'The answer appears while the model writes it, because **Response Mode** of the node _Chat_ is _Streaming_',
    'examples/workflows/chat-with-memory.json',
    '"responseMode": "streaming"',
  ],
  [
    'README.md',
    "include the tenant's ID in its session key",
    'test/e2e/examples.test.ts',
    'chat-with-memory.json remembers a conversation, and tells nothing of it to another tenant with the same session',
  ],
  [
    'README.md',
    '`client_id`, `dialog_id`, `user_id` and `session_id`, which the tools, the audit and the bill get',
    'test/integration/run/identity.test.ts',
    'is part of the request: the same task for another session is a conflict, and no replay',
  ],
  [
    'docs/quickstart.md',
    'Select your OpenRouter and Postgres credentials, above **Tenant**',
    'test/e2e/panel.test.ts',
    "above('node-credentials-slot', 'parameter-input-tenantId')",
  ],
  ['docs/vault.md', '_Tools: Vault Key_', 'test/e2e/panel.test.ts', 'shows a credential where something asks for it'],
  [
    'README.md',
    'a task that was done is not run again, its stored result comes back',
    'test/integration/ledger/claims.test.ts',
    'gives back the stored result without a model call',
  ],
  [
    'README.md',
    'fifty runs at once overrun it by one call at most',
    'test/hostile/budgets.test.ts',
    'fifty runs of two processes never spend more than the limit and one reservation',
  ],
  [
    'docs/tenant-tools.md',
    'All items must agree (`ITEMS_DIFFER`)',
    'test/nodes/tenant-tools.test.ts',
    'gets no tools where its items are of two tenants',
  ],
  [
    'docs/tenant-tools.md',
    'What was approved is what is called',
    'test/nodes/tenant-tools.test.ts',
    'one approval is for one call',
  ],
  [
    'docs/tenant-model.md',
    'a tenant whose month is spent is refused (`BUDGET_EXCEEDED`), and nothing is sent',
    'test/integration/run/model-calls.test.ts',
    'a tenant whose budget is spent is refused before anything is sent',
  ],
];

it.each(HELD)('%s: "%s" is shown by %s', (...[page, sentence, test, title]) => {
  expect(read(page).replaceAll(/\s+/g, ' ')).toContain(sentence);
  expect(read(test)).toContain(title);
});
