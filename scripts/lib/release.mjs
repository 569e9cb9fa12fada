// What stands between this tree and a release: addresses that readers and users will follow have to lead somewhere.

/**
 * @typedef {object} Manifest
 * @property {string} [homepage]
 * @property {string | { url?: string }} [bugs]
 * @property {string | { url?: string }} [repository]
 * @property {{ email?: string }} [author]
 */

/** npm's page makes links to the repository out of README's relative ones only where it knows the host. */
const GITHUB = /^(git\+)?https:\/\/github\.com\/[^/]+\/[^/]+?(\.git)?$/;

/** Names that are reserved for examples. */
const PLACEHOLDER = /\.(example|invalid|test)\b|\bexample\.(com|org|net)\b/;

/**
 * @param {Manifest} manifest
 * @returns {{ homepage?: string, bugs?: string, repository?: string }}
 */
function addressesOf({ homepage, bugs, repository }) {
  const urlOf = (field) => (typeof field === 'string' ? field : field?.url);
  return { homepage, bugs: urlOf(bugs), repository: urlOf(repository) };
}

/**
 * What is missing in the files themselves.
 * @param {{ manifest: Manifest, contacts: Record<string, string> }} tree `contacts`: texts that name a mail address, by file
 * @returns {string[]}
 */
export function findReleaseFaults({ manifest, contacts }) {
  const addresses = addressesOf(manifest);
  const faults = ['homepage', 'bugs', 'repository'].flatMap((field) => {
    if (addresses[field] === undefined) return [`package.json has no "${field}".`];
    return PLACEHOLDER.test(addresses[field]) ? [`"${field}" in package.json is a placeholder.`] : [];
  });
  if (addresses.repository !== undefined && !GITHUB.test(addresses.repository)) {
    faults.push('"repository" is not on github.com: README\'s links and pictures would be dead on npm.');
  }
  for (const [file, text] of Object.entries({ 'package.json': manifest.author?.email ?? '', ...contacts })) {
    const [mail] = (text.match(/[\w.+-]+@[\w.-]+/g) ?? []).filter((found) => PLACEHOLDER.test(found));
    if (mail !== undefined) faults.push(`${file} names ${mail}, which is nobody's address.`);
  }
  return faults;
}

/**
 * Which addresses do not answer.
 * @param {Manifest} manifest
 * @param {(url: string) => Promise<{ ok: boolean, status: number }>} ask
 * @returns {Promise<string[]>}
 */
export async function findDeadAddresses(manifest, ask = fetch) {
  const urls = Object.values(addressesOf(manifest)).filter((url) => url !== undefined);
  const answers = urls.map(async (url) => {
    const page = url.replace(/^git\+/, '').replace(/\.git$/, '');
    try {
      const { ok, status } = await ask(page);
      return ok ? [] : [`${page} answers HTTP ${status}.`];
    } catch (error) {
      return [`${page} cannot be reached: ${error.cause?.message ?? error.message}.`];
    }
  });
  return (await Promise.all(answers)).flat();
}
