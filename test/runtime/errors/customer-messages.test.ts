import type { RunStatus } from '../../../runtime/contracts/result';
import { ERROR_CODES, isErrorCode } from '../../../runtime/errors/codes';
import { customerMessage, isMessageKey, type Unanswered } from '../../../runtime/errors/customer-messages';
import { describeError } from '../../../runtime/errors/runtime-error';

const LANGUAGES = ['en', 'de', 'es', 'fr', 'pt', 'uk', 'ru'];
const CASES: readonly (readonly [string, Unanswered])[] = [
  ['approval', { status: 'awaiting_input' }],
  ['limit', { code: 'BUDGET_EXCEEDED' }],
  ['later', { code: 'LLM_UNAVAILABLE' }],
  ['cancelled', { code: 'RUN_CANCELLED' }],
  ['other', { code: 'LLM_AUTH_FAILED' }],
];

describe('customerMessage', () => {
  it('has five sentences in each of seven languages, and no word of an operator in them', () => {
    const sentences = LANGUAGES.flatMap((language) => CASES.map(([, about]) => customerMessage(about, { language })));
    expect(new Set(sentences).size).toBe(LANGUAGES.length * CASES.length);
    for (const sentence of sentences) {
      expect(sentence).toMatch(/^\p{Lu}.*\.$/u);
      expect(sentence).not.toMatch(/[A-Z]{2,}_|budget|token|model|tier|\$|error code/i);
    }
  });

  it.each([
    ['limit', { status: 'budget_exceeded' }],
    ['limit', { code: 'TENANT_RATE_LIMITED', status: 'failed' }],
    ['later', { code: 'DB_UNREACHABLE' }],
    ['later', { code: 'RUN_TIMEOUT', status: 'cancelled' }],
    ['later', { code: 'LLM_CONTENT_FILTERED', status: 'failed' }],
    ['cancelled', { status: 'cancelled' }],
    ['other', { code: 'NODE_SETUP' }],
    ['other', { status: 'max_iterations' }],
    ['other', { code: 'constructor', status: 'toString' }],
    ['other', {}],
  ] as const)('says %s for %j', (name, about) => {
    const [, same] = CASES.find(([one]) => one === name) ?? [];
    expect(customerMessage(about)).toBe(customerMessage(same ?? {}));
  });

  it.each([
    ['de', 'de-AT', 'de_CH', 'German', 'deutsch', 'Deutsch (Österreich)'],
    ['es', 'es-MX', 'Spanish', 'Español', 'castellano'],
    ['fr', 'FR', 'French', 'Français'],
    ['pt', 'pt-BR', 'Portuguese', 'Brazilian Portuguese', 'português'],
    ['uk', 'uk-UA', 'Ukrainian', 'українська'],
    ['ru', 'Russian', 'русский'],
    ['en', 'English', 'Dutch', 'De Nederlandse', 'x', '', '7'],
  ])('reads the language %s also as %j', (code, ...names) => {
    const sentences = names.map((language) => customerMessage({}, { language }));
    expect(new Set(sentences)).toEqual(new Set([customerMessage({}, { language: code })]));
  });

  it('takes a sentence by its code before one by its status, and the first before the second', () => {
    const about = { code: 'BUDGET_EXCEEDED', status: 'budget_exceeded' };
    const [tenant, node] = [
      { budget_exceeded: 'tenant' },
      { budget_exceeded: 'node', BUDGET_EXCEEDED: 'node by code' },
    ];
    expect(customerMessage(about, { own: [tenant, node] })).toBe('node by code');
    expect(customerMessage({ status: 'budget_exceeded' }, { own: [tenant, node] })).toBe('tenant');
    expect(customerMessage({ code: 'RUN_CANCELLED' }, { own: [{ cancelled: 'Bye.' }] })).toBe('Bye.');
  });

  it('never has the words that the operator reads', () => {
    for (const code of Object.keys(ERROR_CODES).filter(isErrorCode)) {
      const { message, hint } = describeError(code);
      expect([message, hint]).not.toContain(customerMessage({ code }));
    }
  });
});

it('codes and statuses are keys of own messages, and nothing else', () => {
  expect(['BUDGET_EXCEEDED', 'awaiting_input', 'budget', 'toString', ''].map(isMessageKey)).toEqual([
    ...[true, true, false, false, false],
  ]);
});

it('every status of a result is a key', () => {
  const statuses: Readonly<Record<RunStatus, true>> = {
    ...{ completed: true, max_iterations: true, budget_exceeded: true },
    ...{ cancelled: true, awaiting_input: true, failed: true },
  };
  expect(Object.keys(statuses).every(isMessageKey)).toBe(true);
});
