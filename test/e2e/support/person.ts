import type { Editor } from '../../../scripts/lib/editor.mjs';
import { untilTrue } from '../../support/values/until';

/** A list that has not appeared by then is opened again. */
const LIST_MS = 2000;

type Locator = ReturnType<Editor['page']['locator']>;

/** What a person does in the editor, each click and each filling counted. */
export interface Person {
  readonly clicks: () => number;
  /** The first of what is visible. */
  readonly one: (selector: string) => Locator;
  readonly click: (selector: string, text?: string) => Promise<void>;
  /** Adds a node with one of its actions, found by words. */
  readonly add: (words: string, node: string, action: string) => Promise<void>;
  readonly fill: (parameter: string, text: string) => Promise<void>;
  /** Writes in place of an expression. */
  readonly write: (parameter: string, text: string) => Promise<void>;
  /** From the list of a tenant. */
  readonly pick: (parameter: string, entry: string) => Promise<void>;
  readonly choose: (parameter: string, entry: string) => Promise<void>;
  /** Selects a credential, which n8n does by itself where there is only one. */
  readonly use: (slot: string, credential: string) => Promise<void>;
  readonly execute: (expected: string) => Promise<void>;
}

export const parameter = (name: string): string => `[data-test-id="parameter-input-${name}"]`;

/** `postgres` is the credential for each node that is added. */
export function aPerson({ page }: Editor, postgres: string): Person {
  let clicks = 0;
  const one = (selector: string): Locator => page.locator(selector).filter({ visible: true }).first();
  const click = async (selector: string, text?: string): Promise<void> => {
    clicks += 1;
    await (text === undefined ? one(selector) : one(selector).getByText(text).first()).click();
  };
  const use = async (slot: string, credential: string): Promise<void> => {
    const input = one(`[data-test-id="node-credentials-slot"]:has-text(${JSON.stringify(slot)}) input`);
    if ((await input.inputValue()) === credential) return;
    await input.click();
    await one(`.el-select-dropdown__item:has-text(${JSON.stringify(credential)})`).click();
  };
  return {
    clicks: () => clicks,
    one,
    click,
    use,
    async add(words, node, action) {
      if (await page.locator('[data-test-id="ndv"]').isVisible()) await page.keyboard.press('Escape');
      await click('[data-test-id="node-creator-plus-button"]');
      const creator = page.locator('[data-test-id="node-creator"]');
      await creator.locator('input').first().fill(words);
      await creator.getByText(node, { exact: true }).first().click();
      await creator.getByText(action, { exact: true }).first().click();
      clicks += 3;
      await page.locator('[data-test-id="ndv"]').waitFor();
      await page.waitForLoadState('networkidle');
      await use('Postgres', postgres);
    },
    async fill(name, text) {
      clicks += 1;
      await one(`${parameter(name)} input, ${parameter(name)} textarea`).fill(text);
    },
    async write(name, text) {
      await click(`${parameter(name)} .cm-content`);
      await page.keyboard.press('ControlOrMeta+A');
      await page.keyboard.type(text);
      // The editor shows the value once it has taken it, a moment after the last key.
      await one('[data-test-id^="parameter-expression-preview-"]').getByText(text).waitFor();
    },
    async pick(name, entry) {
      await click(`[data-test-id="resource-locator-${name}"] [data-test-id="rlc-input"]`);
      clicks += 1;
      await one(`[data-test-id="rlc-item"]:has-text(${JSON.stringify(entry)})`).click();
    },
    async choose(name, entry) {
      clicks += 1;
      const option = page.getByRole('option', { name: new RegExp(entry) }).first();
      // n8n closes a list that is open while another is loaded.
      await untilTrue(async () => {
        await one(parameter(name)).click();
        return option.waitFor({ timeout: LIST_MS }).then(
          () => true,
          () => false,
        );
      });
      await option.click();
    },
    async execute(expected) {
      await click('[data-test-id="node-execute-button"]');
      await one('[data-test-id="output-panel"]').getByText(expected).first().waitFor();
    },
  };
}
