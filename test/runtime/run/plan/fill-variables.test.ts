import type { TaskConfig } from '../../../../runtime/contracts/task';
import { fillVariables } from '../../../../runtime/run/plan/fill-variables';
import { readTask } from '../../../../runtime/tasks/read-task';
import { createRedactor } from '../../../../runtime/util/redaction/redact';

const given = { message: 'Hi {{name}}', system_prompt: 'Serve {{name}}.', variables: { name: 'Ann' } };
const base = readTask({ config: given, meta: { tenant_id: '3f2b8c1e-5d4a-4c6b-9e7f-0a1b2c3d4e5f' } }).config;
const redact = createRedactor(['sk-very-secret-key']);
const filled = (config: Partial<TaskConfig>, asked: Partial<TaskConfig> = { ...base, ...config }) => {
  const { config: made, warnings } = fillVariables({ ...base, ...config }, { asked, redact });
  return { prompt: made.system_prompt, message: made.message, warnings };
};

it('fills the system prompt, and leaves the message as a user wrote it', () => {
  expect(filled({})).toEqual({ prompt: 'Serve Ann.', message: 'Hi {{name}}', warnings: [] });
  expect(filled({ message_is_template: false })).toMatchObject({ message: 'Hi {{name}}' });
});

it('fills a message that is a template', () => {
  expect(filled({ message_is_template: true })).toMatchObject({ message: 'Hi Ann' });
});

it("leaves a prompt that is no template, but fills the agent's all the same", () => {
  const config = { system_prompt_is_template: false };
  expect(filled(config)).toMatchObject({ prompt: 'Serve {{name}}.', warnings: [] });
  expect(filled(config, { system_prompt: '' })).toMatchObject({ prompt: 'Serve Ann.' });
});

it('names what is unknown, also where a task has no variables', () => {
  expect(filled({ variables: undefined, message_is_template: true })).toMatchObject({
    prompt: 'Serve {{name}}.',
    message: 'Hi {{name}}',
    warnings: [
      {
        code: 'VARIABLE_UNKNOWN',
        message: 'Unknown variables in the system prompt: "name". They were left as they are.',
      },
      { code: 'VARIABLE_UNKNOWN', message: 'Unknown variables in the message: "name". They were left as they are.' },
    ],
  });
});

it('blanks a secret in the place of a name', () => {
  const { warnings } = filled({ system_prompt: '{{sk-very-secret-key}}' });
  expect(JSON.stringify(warnings)).not.toContain('sk-very');
});

it('takes any number of placeholders where there are no variables', () => {
  const prompt = Array.from({ length: 20_000 }, (_, index) => `{{v${index}}}`).join('');
  expect(filled({ system_prompt: prompt, variables: {} })).toMatchObject({ prompt, warnings: [{}] });
});

it('refuses a prompt that becomes too long', () => {
  const config = { system_prompt: '{{name}}'.repeat(10), variables: { name: 'x'.repeat(60_000) } };
  expect(() => filled(config)).toThrow(
    'the system prompt cannot be filled: its variables hold more than 250000 characters',
  );
});
