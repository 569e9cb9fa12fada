import type { readPage as ReadPage } from '../../../runtime/tools/web/read-page';

/** Pages that are being read, by their HTML, with the function that finishes each. */
const reading = new Map<string, () => void>();

jest.mock('../../../runtime/util/fork-limited', () => ({
  forkLimited: () => ({ kill: () => true }),
  askFork: (_child: unknown, { html }: { html: string }) =>
    new Promise((resolve) => reading.set(html, () => resolve({ kind: 'page', text: html }))),
}));

let readPage: typeof ReadPage;

beforeAll(async () => {
  // Loaded after the mock is in place.
  ({ readPage } = await import('../../../runtime/tools/web/read-page'));
});
beforeEach(() => reading.clear());

const read = (tenantId: string, html: string, signal = new AbortController().signal) =>
  readPage({ kind: 'read', html }, { meta: { tenant_id: tenantId, task_id: 'x' }, signal });

/** Lets every pending promise run. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

async function finish(html: string): Promise<void> {
  reading.get(html)?.();
  reading.delete(html);
  await settle();
}

it('tenants take turns, however many pages one of them waits for', async () => {
  const many = Array.from({ length: 12 }, (_, n) => read('many', `many ${n}`));
  const other = read('other', 'other');
  await settle();
  expect([...reading.keys()]).toEqual(['many 0', 'many 1', 'many 2', 'many 3']);
  await finish('many 0');
  await finish('many 1');
  expect([...reading.keys()]).toContain('other');
  await finish('other');
  await expect(other).resolves.toMatchObject({ kind: 'page' });
  while (reading.size > 0) for (const html of [...reading.keys()]) await finish(html);
  await expect(Promise.all(many)).resolves.toHaveLength(12);
});

it('a waiting page is not read after its run has ended', async () => {
  const ended = new AbortController();
  const before = Array.from({ length: 4 }, (_, n) => read('many', `many ${n}`));
  const waiting = read('many', 'late', ended.signal);
  await settle();
  ended.abort(new Error('the run is over'));
  await expect(waiting).rejects.toThrow('the run is over');
  while (reading.size > 0) for (const html of [...reading.keys()]) await finish(html);
  await Promise.all(before);
  expect(reading.has('late')).toBe(false);
});
