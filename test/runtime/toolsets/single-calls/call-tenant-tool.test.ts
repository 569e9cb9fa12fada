import type { TenantSnapshot } from '../../../../runtime/contracts/tenant';
import { type CallParts, callTenantTool } from '../../../../runtime/toolsets/single-calls/call-tenant-tool';

it('a call is given up while its arguments are still being checked, for whom it is made', async () => {
  const checkedFor: unknown[] = [];
  const stop = new AbortController();
  const tool = {
    definition: { name: 'slow', description: '', inputSchema: {} },
    parseInput: (_input: unknown, whom: unknown) => {
      checkedFor.push(whom);
      queueMicrotask(() => stop.abort(new Error('no longer wanted')));
      return new Promise(() => undefined);
    },
  };
  const parts = { selectTools: () => Promise.resolve({ tools: [{ tool }], warnings: [] }) } as unknown as CallParts;
  const snapshot = { tenant: { id: 'a-tenant' }, tools: [] } as unknown as TenantSnapshot;
  const calling = callTenantTool(parts, { snapshot, tool: 'slow', arguments: {}, signal: stop.signal });
  await expect(calling).rejects.toThrow('no longer wanted');
  expect(checkedFor).toEqual([{ tenantId: 'a-tenant', signal: stop.signal }]);
});
