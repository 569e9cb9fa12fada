import { readQueueTask, refuseOtherTypes } from '../../../runtime/tasks/read-queue-task';
import { containing, withCode } from '../../support/setup/matchers';

it('reads a task as it is', () => {
  const task = {
    task_id: 'a',
    trace_id: 'b',
    task_type: 'make_coffee',
    config: { constructor: 1 },
    meta: { tenant_id: 't' },
    callback: { result_key: 'k' },
    priority: 2 ** 21 - 1,
    payload: { for: 'others' },
  };
  expect(readQueueTask(task)).toEqual(task);
});

it('fills in what may be left out', () => {
  const empty = { task_id: '', trace_id: null, task_type: null, config: null, callback: { result_key: '' } };
  for (const given of [{}, empty]) {
    const task = readQueueTask(given);
    expect(task).toMatchObject({ task_type: 'ai_agent', config: {}, meta: {} });
    expect(task.task_id).toMatch(/^[0-9a-f-]{36}$/);
    expect(task.trace_id).toMatch(/^[0-9a-f-]{36}$/);
    expect(task.callback?.result_key).toBeUndefined();
  }
  expect(readQueueTask({ task_id: 7 }).task_id).toBe('7');
});

it.each([
  [null, 'the task'],
  [[], 'the task'],
  ['text', 'the task'],
  [{ task_id: {} }, 'task_id'],
  [{ task_id: 'a\0' }, 'task_id'],
  [{ task_id: '\ud800' }, 'task_id'],
  [{ task_type: 5 }, 'task_type'],
  [{ config: 'x' }, 'config'],
  [{ meta: [1] }, 'meta'],
  [{ callback: 'x' }, 'callback'],
  [{ callback: { counter_key: 1 } }, 'callback.counter_key'],
  [{ priority: 1.5 }, 'priority'],
  [{ priority: 2 ** 21 }, 'priority'],
])('refuses %j', (given, field) => {
  expect(() => readQueueTask(given)).toThrow(withCode('INPUT_INVALID', { message: containing(field) }));
});

it('lets nothing reach a prototype', () => {
  const given: unknown = JSON.parse('{"__proto__":{"task_id":"x"},"meta":{"__proto__":{"tenant_id":"x"}}}');
  const task = readQueueTask(given);
  expect(task.task_id).not.toBe('x');
  expect(task.meta.tenant_id).toBeUndefined();
  expect({}).not.toHaveProperty('tenant_id');
});

it('only agents are run by themselves', () => {
  for (const given of [{}, { task_type: 'ai_agent' }, { task_type: null }, 'text']) {
    expect(() => refuseOtherTypes(given)).not.toThrow();
  }
  expect(() => refuseOtherTypes({ task_type: 'llm_extraction' })).toThrow(withCode('INPUT_INVALID'));
});
