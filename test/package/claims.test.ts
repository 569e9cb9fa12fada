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

it.each([...pages, 'nodes/UniversalAiAgentAdmin/panel/servers.ts'])(
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
