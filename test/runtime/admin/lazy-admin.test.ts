import type { Admin } from '../../../runtime';
import { lazyAdmin } from '../../../runtime/admin/lazy-admin';

const list = jest.fn(() => Promise.resolve({ tenants: [], next: null }));
const load = jest.fn(() => Promise.resolve({ tenant: { list } } as unknown as Admin));
const admin = lazyAdmin(load);

it('is loaded with its first use, and not by being looked at', async () => {
  expect(Object.keys({ ...admin })).toContain('tenant');
  expect('list' in admin.tenant && 'remove' in admin.tenant).toBe(false);
  expect(admin.tenant.list).toBe(admin.tenant.list);
  expect(load).not.toHaveBeenCalled();
  await admin.tenant.list({ limit: 1 });
  expect(list).toHaveBeenCalledWith({ limit: 1 });
});
