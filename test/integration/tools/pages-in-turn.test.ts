import { readPage } from '../../../runtime/tools/web/read-page';

const HTML = '<html><title>t</title><body><p>Some text that is long enough to be read.</p></body></html>';

const read = (tenantId: string, signal = new AbortController().signal) =>
  readPage({ kind: 'read', html: HTML }, { meta: { tenant_id: tenantId, task_id: 'x' }, signal });

it('the pages of tenants are read in turn, however many one of them brings', async () => {
  let done = 0;
  const many = Array.from({ length: 16 }, () => read('many').then(() => ++done));
  await read('other');
  // Four are read at a time, so the other one waits for one of them, and not for the twelve behind.
  expect(done).toBeLessThan(12);
  await Promise.all(many);
});

it('a page that waits is not read once its run has ended', async () => {
  const ended = new AbortController();
  const before = Array.from({ length: 4 }, () => read('many'));
  const waiting = read('many', ended.signal);
  ended.abort(new Error('the run is over'));
  await expect(waiting).rejects.toThrow('the run is over');
  await Promise.all(before);
});
