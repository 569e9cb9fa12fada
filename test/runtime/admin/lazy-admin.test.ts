import type { Admin } from '../../../runtime/admin/contract/admin';
import { lazyAdmin } from '../../../runtime/admin/lazy-admin';
import { withCode } from '../../support/setup/matchers';

const list = jest.fn(() => Promise.resolve({ tenants: [], next: null }));
const load = jest.fn(() => Promise.resolve({ tenant: { list } } as unknown as Admin));
const admin = lazyAdmin(load);

it('is loaded with its first use, and not by being looked at', async () => {
  expect([admin, admin.tenant].map(String)).toEqual(['[object Object]', '[object Object]']);
  expect(JSON.stringify(admin)).toBe('{}');
  expect(load).not.toHaveBeenCalled();
  await admin.tenant.list({ limit: 1 });
  expect(list).toHaveBeenCalledWith({ limit: 1 });
});

it('refuses a name that is none when it is called', async () => {
  const any = admin as unknown as Record<string, Record<string, () => Promise<unknown>>>;
  await expect(any.tenants?.list?.()).rejects.toThrow(withCode('ADMIN_INPUT_INVALID'));
});
