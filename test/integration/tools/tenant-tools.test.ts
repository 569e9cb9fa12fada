import { withCode } from '../../support/setup/matchers';
import { type AgentFixture, startAgentFixture } from '../../support/values/agent-fixture';

let fixture: AgentFixture;

beforeAll(async () => {
  fixture = await startAgentFixture();
});
afterAll(() => fixture.close());

const METHODS = ['list', 'call', 'refresh', 'health'] as const;

describe.each(METHODS)('tools.%s', (method) => {
  const ask = (query: unknown): Promise<unknown> => fixture.runtime.tools[method](query as never);

  it('says what is wrong with a question', async () => {
    const { tenantId } = fixture;
    const questions = [undefined, null, 'x', [], {}, { tenantId: 5 }, { tenantId, tier: 7 }, { tenantId, server: {} }];
    for (const question of questions) await expect(ask(question)).rejects.toThrow(withCode('INPUT_INVALID'));
    const call = { tool: 'echo', arguments: {} };
    await expect(ask({ ...call, tenantId: 'a shop' })).rejects.toThrow(withCode('TENANT_ID_INVALID'));
  });

  it('takes the id of a tenant as people write it', async () => {
    const tenantId = ` ${fixture.tenantId.toUpperCase()} `;
    await expect(ask({ tenantId, tool: 'echo', arguments: {} })).resolves.toBeDefined();
  });
});

it('a call names its tool', async () => {
  const asked = fixture.runtime.tools.call({ tenantId: fixture.tenantId, arguments: {} } as never);
  await expect(asked).rejects.toThrow('tool is missing');
});
