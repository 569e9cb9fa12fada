import type { TaskConfig } from '../../contracts/task';
import { describeError, type ErrorSummary, RuntimeError } from '../../errors/runtime-error';
import { errorText } from '../../errors/to-runtime-error';
import type { Redact } from '../../util/redaction/redact';
import { createFiller, type Variables } from '../../util/variables/fill';

interface Filled {
  readonly config: TaskConfig;
  readonly warnings: readonly ErrorSummary[];
}

/**
 * The settings with variables in place of the placeholders in the system prompt, and in a message that is a template. `asked` is
 * the task's own prompt: one that is no template is left as it is. Throws INPUT_INVALID for what becomes too long.
 */
export function fillVariables(
  config: TaskConfig,
  { asked, redact }: { readonly asked: Partial<Pick<TaskConfig, 'system_prompt'>>; readonly redact: Redact },
): Filled {
  const variables = new Map(Object.entries(config.variables ?? {}));
  const isOfAgent = config.system_prompt !== asked.system_prompt;
  const isTemplate: Readonly<Record<Key, boolean>> = {
    system_prompt: isOfAgent || config.system_prompt_is_template !== false,
    message: config.message_is_template === true,
  };
  const filled = KEYS.filter((key) => isTemplate[key]).flatMap((key) => fill(key, config, { variables, redact }));
  return {
    config: { ...config, ...Object.fromEntries(filled.map(({ key, text }) => [key, text])) },
    warnings: filled.flatMap(({ warnings }) => warnings),
  };
}

const KEYS = ['system_prompt', 'message'] as const;
type Key = (typeof KEYS)[number];
const WORDS: Readonly<Record<Key, string>> = { system_prompt: 'the system prompt', message: 'the message' };

interface FilledText {
  readonly key: Key;
  readonly text: string;
  readonly warnings: readonly ErrorSummary[];
}

function fill(
  key: Key,
  { [key]: template = '' }: TaskConfig,
  { variables, redact }: { readonly variables: Variables; readonly redact: Redact },
): readonly FilledText[] {
  if (!template.includes('{{')) return [];
  const filler = createFiller(variables);
  try {
    const text = filler.text(template);
    const unknown = filler.unknown();
    const details = { where: WORDS[key], names: redact(unknown) };
    return [{ key, text, warnings: unknown === '' ? [] : [describeError('VARIABLE_UNKNOWN', details)] }];
  } catch (error) {
    throw new RuntimeError('INPUT_INVALID', { issues: `${WORDS[key]} cannot be filled: ${errorText(error)}` });
  }
}
