import { tenantOf } from '../../../../runtime/contracts/queue';
import { jobIdOf, parseEntry, readListedTask, typeOf } from '../../../../runtime/queue/intake/read-task';

const DOCUMENTS = {
  task_id: 'uuid',
  trace_id: 'trace_456',
  task_type: 'ai_agent',
  config: { agent_tier: 'pro', message: 'Find all orders', context: { client_id: '123' } },
  meta: { tenant_id: 'uuid', client_id: '123' },
  callback: { result_key: 'elo:results:trace_456', notify_webhook: 'https://n8n.example/webhook/agent-result' },
};

const read = (value: unknown): ReturnType<typeof readListedTask> => readListedTask(value, '17-1');
const idOf = (more: object = {}): string => jobIdOf(read({ ...DOCUMENTS, ...more }));

it("reads the documents' request unchanged", () => {
  expect(read(DOCUMENTS)).toEqual(DOCUMENTS);
});

it('gives a task without ids the same ones each time', () => {
  const bare = { task_type: 'ai_agent' };
  expect(read(bare)).toEqual({ ...bare, task_id: 'list-17-1', trace_id: 'list-17-1', config: {}, meta: {} });
  expect(readListedTask(bare, '18-2').task_id).not.toBe(read(bare).task_id);
});

it('keeps a long id whole, though not as a trace', () => {
  const { task_id: taskId, trace_id: traceId } = read({ ...DOCUMENTS, task_id: 'x'.repeat(200), trace_id: undefined });
  expect([taskId.length, traceId.length]).toEqual([200, 100]);
});

it('keeps the digits of a numeric id beyond 2^53', () => {
  expect(read(parseEntry({ raw: '{"task_id":2512292042121000001,"trace_id":2512292042121000002}' }))).toMatchObject({
    task_id: '2512292042121000001',
    trace_id: '2512292042121000002',
  });
});

it.each([[null], [17], ['text'], [[]], [{ config: [1] }], [{ meta: 'x' }], [{ task_id: 'a\0b' }], [{ priority: 0.5 }]])(
  'refuses %j',
  (value) => {
    const error = (() => {
      try {
        return read(value);
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(error).toMatchObject({ code: 'INPUT_INVALID' });
  },
);

it.each(['config', 'meta', 'callback'])('takes the empty list that PHP writes for an empty map: %s', (field) => {
  expect(read({ ...DOCUMENTS, [field]: [] })).toEqual(read({ ...DOCUMENTS, [field]: {} }));
});

it('says of a task with too many values that it is one', () => {
  expect(() => parseEntry({ raw: `[${'0,'.repeat(20_001)}0]` })).toThrow('the task has more than 20000 values');
});

it('quotes nothing of what is not JSON', () => {
  expect(() => parseEntry({ raw: '{"secret": CANARY' })).toThrow('The task is not valid: the task is not JSON.');
});

it('knows the type of what is otherwise no task', () => {
  expect(typeOf({ task_type: 'video', config: 7 })).toBe('video');
  expect([typeOf({}), typeOf(null), typeOf('ai_agent'), typeOf({ task_type: 1 })]).toEqual(Array(4).fill(undefined));
});

describe('the id of a job', () => {
  it('is the same for the same request, however it is written', () => {
    const { meta, config, ...rest } = DOCUMENTS;
    expect(idOf()).toBe(jobIdOf(read({ meta, ...rest, config: Object.fromEntries(Object.entries(config).reverse()) })));
    expect(idOf({ callback: undefined, trace_id: 'other', priority: 3 })).toBe(idOf());
    expect(idOf({ meta: { ...DOCUMENTS.meta, tenant_id: ' UUID ' } })).not.toBe(idOf({ task_id: 'other' }));
  });

  it('differs for another request, task or tenant', () => {
    const ids = [
      idOf(),
      idOf({ task_id: 'other' }),
      idOf({ task_type: 'llm_generation' }),
      idOf({ config: { message: 'other' } }),
      idOf({ meta: { tenant_id: 'other' } }),
    ];
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('is one that BullMQ takes', () => {
    expect(idOf()).toMatch(/^[0-9a-f]{64}$/);
  });
});

it('takes a tenant that is no text for none', () => {
  expect(tenantOf(read({ ...DOCUMENTS, meta: { tenant_id: 7 } }))).toBe('');
});
