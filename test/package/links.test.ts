import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';

import { findDeadAddresses, findReleaseFaults } from '../../scripts/lib/release.mjs';
import { type UnpackedPackage, unpackPackage } from '../support/worlds/unpack-package';

let packed: UnpackedPackage;
beforeAll(() => {
  packed = unpackPackage();
});
afterAll(() => packed.remove());

const filesOf = (folder: string, ending: RegExp): string[] =>
  readdirSync(packed.file(folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => ending.test(name))
    .map((name) => path.posix.join(folder, name));
const read = (name: string): string => readFileSync(packed.file(name), 'utf8');

/** Where the links and pictures of a page lead. */
function targetsOf(page: string): string[] {
  const text = read(page).replace(/^ *```[\s\S]*?^ *```/gm, '');
  return [...text.matchAll(/\]\(([^)\s]+)[^)]*\)|(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? match[2] ?? '');
}

/** The anchors that GitHub and npm make of a page's headings. */
const anchorsOf = (page: string): string[] =>
  [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

function isDead(page: string, target: string): boolean {
  if (/^[a-z]+:/.test(target)) return false;
  const [name = '', anchor] = target.split('#');
  const found = name === '' ? page : path.posix.join(path.posix.dirname(page), name);
  if (!existsSync(packed.file(found))) return true;
  return anchor !== undefined && (statSync(packed.file(found)).isDirectory() || !anchorsOf(found).includes(anchor));
}

it('every link and picture of the published pages leads to a file, and a heading, that is published too', () => {
  const pages = filesOf('.', /\.md$/);
  expect(pages).toEqual(
    expect.arrayContaining(['README.md', 'SECURITY.md', 'docs/queue.md', 'docs/adr/0002-bundle.md']),
  );
  const links = pages.flatMap((page) => targetsOf(page).map((target) => ({ page, target })));
  expect(links.length).toBeGreaterThan(60);
  expect(links.filter(({ page, target }) => isDead(page, target))).toEqual([]);
});

it("n8n's panels name no address that is not there", () => {
  const panels = filesOf('dist/nodes', /\.js(on)?$/).concat(filesOf('dist/credentials', /\.js$/));
  expect(panels.length).toBeGreaterThan(5);
  const addresses = panels.flatMap((name) => read(name).match(/https?:\/\/[^\s"'`<>),\\]+/g) ?? []);
  const manifest = JSON.parse(read('package.json')) as { homepage?: string };
  const known = [
    // The text that n8n's own lint asks for, the name of a JSON Schema dialect, and examples of what to type.
    /^https:\/\/docs\.n8n\.io\/code\/expressions\/$/,
    /^http:\/\/json-schema\.org\/draft-07\/schema#$/,
    /^https?:\/\/([\w-]+\.)*example\.com(\/|$)/,
    // A name that nobody can have, for requests that are answered before they are sent.
    /^http:\/\/tenant-model\.invalid\/v1$/,
  ];
  expect(
    addresses.filter(
      (address) => !known.some((pattern) => pattern.test(address)) && !address.startsWith(manifest.homepage ?? '\0'),
    ),
  ).toEqual([]);
});

it('n8n can read what the list of nodes is to say of them: it drops the whole of it where `resources` is missing', () => {
  const descriptions = filesOf('dist/nodes', /\.node\.json$/);
  expect(descriptions).toHaveLength(5);
  for (const name of descriptions) {
    expect(JSON.parse(read(name))).toMatchObject({
      resources: {},
      alias: expect.arrayContaining(['tenant']) as unknown,
    });
  }
});

it('npm refuses to publish the package as long as its addresses are not there', () => {
  const manifest = JSON.parse(read('package.json')) as Parameters<typeof findReleaseFaults>[0]['manifest'];
  const faults = findReleaseFaults({ manifest, contacts: { 'SECURITY.md': read('SECURITY.md') } });
  expect(faults.length === 0 || (manifest as { private?: boolean }).private === true).toBe(true);
});

describe('the release check', () => {
  const sound = {
    homepage: 'https://github.com/someone/agent#readme',
    bugs: { url: 'https://github.com/someone/agent/issues' },
    repository: { type: 'git', url: 'git+https://github.com/someone/agent.git' },
    author: { email: 'someone@agents.dev' },
  };
  const faultsOf = (manifest: object, security = ''): string[] =>
    findReleaseFaults({ manifest, contacts: { 'SECURITY.md': security } });

  it('is content with addresses that are all there', () => {
    expect(faultsOf(sound, 'Write to security@agents.dev.')).toEqual([]);
  });

  it.each([
    [{ homepage: undefined }, 'package.json has no "homepage".'],
    [{ bugs: undefined }, 'package.json has no "bugs".'],
    [{ repository: undefined }, 'package.json has no "repository".'],
    [{ bugs: 'https://agent.example/issues' }, '"bugs" in package.json is a placeholder.'],
    [{ homepage: 'https://www.example.com' }, '"homepage" in package.json is a placeholder.'],
    [{ repository: 'https://git.agents.dev/agent' }, expect.stringContaining('"repository" is not on github.com')],
    [{ author: { email: 'we@agents.example' } }, "package.json names we@agents.example, which is nobody's address."],
  ])('refuses %j', (change, fault) => {
    expect(faultsOf({ ...sound, ...change })).toEqual([fault]);
  });

  it('refuses a contact for vulnerabilities that reaches nobody', () => {
    expect(faultsOf(sound, 'Mail to us@agents.example, please.')).toEqual([
      "SECURITY.md names us@agents.example, which is nobody's address.",
    ]);
  });

  it('asks each address, the repository as a page', async () => {
    const asked: string[] = [];
    const ask = (url: string): Promise<{ ok: boolean; status: number }> => {
      asked.push(url);
      if (url.endsWith('/issues')) return Promise.reject(new Error('no such host'));
      return Promise.resolve(url.endsWith('#readme') ? { ok: false, status: 404 } : { ok: true, status: 200 });
    };
    expect(await findDeadAddresses(sound, ask)).toEqual([
      'https://github.com/someone/agent#readme answers HTTP 404.',
      'https://github.com/someone/agent/issues cannot be reached: no such host.',
    ]);
    expect(asked).toContain('https://github.com/someone/agent');
  });
});
