import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { chromium } from 'playwright-core';

import { onProcessExit } from './process-exit.mjs';
import { CHROMIUM, programPath } from './system-programs.mjs';

const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/**
 * @typedef {object} Editor
 * @property {import('playwright-core').Page} page
 * @property {() => Promise<void>} login
 * @property {(workflowId: string) => Promise<void>} openWorkflow
 * @property {(nodeName: string) => Promise<void>} openNode Opens the node's panel.
 * @property {(file: string) => Promise<void>} screenshot
 * @property {() => Promise<void>} close
 */

/**
 * Opens n8n's editor in a headless browser with a profile of its own.
 * @param {object} options
 * @param {Pick<import('./n8n-host.mjs').N8nHost, 'baseUrl' | 'owner'>} options.host
 * @returns {Promise<Editor>}
 */
export async function openEditor({ host }) {
  const profile = mkdtempSync(path.join(tmpdir(), 'universal-ai-agent-browser-'));
  const remove = () => rmSync(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  const withdraw = onProcessExit(remove);
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: programPath(CHROMIUM),
    args: flags,
    viewport: { width: 1440, height: 900 },
  });
  await context.addInitScript(hideCallouts);
  const [page] = context.pages();
  const panel = page.locator('[data-test-id="ndv"]');

  return {
    page,
    login: () => logIn(page, host),
    async openWorkflow(workflowId) {
      await page.goto(`${host.baseUrl}/workflow/${workflowId}`);
      await page.locator('[data-test-id="canvas-node"]').first().waitFor();
      await page.waitForLoadState('networkidle');
    },
    async openNode(nodeName) {
      if (await panel.isVisible()) await page.keyboard.press('Escape');
      await page.locator(`[data-test-id="canvas-node"][data-node-name=${JSON.stringify(nodeName)}]`).dblclick();
      await panel.waitFor();
    },
    async screenshot(file) {
      // Animations are brought to their end: the canvas fades in.
      await page.screenshot({ path: file, animations: 'disabled' });
    },
    async close() {
      await context.close();
      withdraw();
      remove();
    },
  };
}

/** Runs in the page: the "Production Checklist" would lie over the nodes. */
function hideCallouts() {
  document.addEventListener('DOMContentLoaded', () => {
    const style = document.createElement('style');
    style.textContent =
      '[data-reka-popper-content-wrapper]:has([data-test-id="suggested-actions-close"]) { display: none !important }';
    document.head.append(style);
  });
}

/**
 * @param {import('playwright-core').Page} page
 * @param {Pick<import('./n8n-host.mjs').N8nHost, 'baseUrl' | 'owner'>} host
 */
async function logIn(page, { baseUrl, owner }) {
  await page.goto(`${baseUrl}/signin`);
  await page.locator('input[autocomplete="email"], input[type="email"]').fill(owner.email);
  await page.locator('input[type="password"]').fill(owner.password);
  await page.locator('[data-test-id="form-submit-button"]').click();
  await page.waitForURL((url) => !url.pathname.startsWith('/signin'));
}
