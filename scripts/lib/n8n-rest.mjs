import { createRequire } from 'node:module';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { n8nHost } from './n8n-install.mjs';
import { fetchAnew, parseJson } from './n8n-session.mjs';

const pollIntervalMs = 100;
const unfinished = ['new', 'running', 'waiting'];

/**
 * @typedef {{ id: string, versionId: string }} SavedWorkflow
 * @typedef {{ status: number, headers: Headers, text: string, json: any }} WebhookReply
 * @typedef {ReturnType<typeof workflowOperations> & ReturnType<typeof executionOperations>} Operations
 */

/**
 * What a builder does in the editor.
 * @param {import('./n8n-session.mjs').Rest} rest
 */
export function workflowOperations(rest) {
  return {
    /**
     * @param {{ name: string, type: string, data: Record<string, unknown> }} credential
     * @returns {Promise<string>} its id
     */
    createCredential: async (credential) => (await rest('POST', '/credentials', credential)).id,

    /**
     * @param {Record<string, unknown>} workflow as n8n exports it; saved inactive
     * @returns {Promise<SavedWorkflow>}
     */
    createWorkflow: async (workflow) => saved(await rest('POST', '/workflows', { settings: {}, ...workflow })),

    /**
     * @param {string} id
     * @param {Record<string, unknown>} changes
     * @returns {Promise<SavedWorkflow>}
     */
    updateWorkflow: async (id, changes) => saved(await rest('PATCH', `/workflows/${id}`, changes)),

    /**
     * Publishes the workflow's last version and waits until its triggers listen.
     * @param {string} id
     */
    async activate(id) {
      const { versionId } = await rest('GET', `/workflows/${id}`);
      await rest('POST', `/workflows/${id}/activate`, { versionId });
      await poll(`workflow ${id} to be published`, 30_000, async () => {
        const { status, triggers = [] } = await rest('GET', `/workflows/${id}/publication-status`);
        return status === 'published' && triggers.every((/** @type {any} */ trigger) => trigger.status === 'activated');
      });
    },

    /**
     * Unpublishes the workflow. Its triggers are closed soon after.
     * @param {string} id
     */
    deactivate: (id) => rest('POST', `/workflows/${id}/deactivate`, {}),
  };
}

/**
 * Starting executions, and reading what became of them.
 * @param {import('./n8n-session.mjs').Rest} rest
 * @param {string} baseUrl
 */
export function executionOperations(rest, baseUrl) {
  return {
    callWebhook: webhookCaller(baseUrl),

    /**
     * Presses "Execute workflow".
     * @param {string} workflowId
     * @param {string} triggerName
     * @returns {Promise<string>} the execution's id
     */
    runManually: async (workflowId, triggerName) =>
      (await rest('POST', `/workflows/${workflowId}/run`, { triggerToStartFrom: { name: triggerName } })).executionId,

    /**
     * Presses "Listen for test event": the next call of its webhook, with `isTest`, runs the workflow.
     * @param {string} workflowId
     * @param {string} triggerName
     */
    async listenForTest(workflowId, triggerName) {
      await rest('POST', `/workflows/${workflowId}/run`, { triggerToStartFrom: { name: triggerName } });
    },

    /**
     * @param {string} workflowId
     * @returns {Promise<any[]>} the last hundred without their data, the newest first
     */
    async executions(workflowId) {
      const filter = encodeURIComponent(JSON.stringify({ workflowId }));
      return (await rest('GET', `/executions?filter=${filter}&limit=100`)).results;
    },

    /** @param {string} id */
    execution: async (id) => withData(await rest('GET', `/executions/${id}`)),

    /**
     * The execution once it has ended in whatever way.
     * @param {string} id
     * @param {{ deadlineMs?: number }} [options]
     */
    waitForExecution: (id, { deadlineMs = 60_000 } = {}) =>
      poll(`execution ${id} to end`, deadlineMs, async () => {
        const execution = await rest('GET', `/executions/${id}`);
        return unfinished.includes(execution.status) ? undefined : withData(execution);
      }),

    /** @param {string} id */
    stopExecution: (id) => rest('POST', `/executions/${id}/stop`, {}),
  };
}

/** @param {string} baseUrl */
function webhookCaller(baseUrl) {
  /**
   * Resolves for an HTTP error too.
   * @param {string} webhookPath
   * @param {unknown} [body] sent as JSON
   * @param {{ method?: string, headers?: Record<string, string>, signal?: AbortSignal, isTest?: boolean }} [options]
   * @returns {Promise<WebhookReply>}
   */
  return async (webhookPath, body, { method = 'POST', headers = {}, signal, isTest = false } = {}) => {
    const response = await fetchAnew(`${baseUrl}/${isTest ? 'webhook-test' : 'webhook'}/${webhookPath}`, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: parseJson(text) };
  };
}

/**
 * @param {any} workflow
 * @returns {SavedWorkflow}
 */
function saved({ id, versionId }) {
  return { id, versionId };
}

/**
 * n8n stores the data of an execution with its own copy of `flatted`.
 * @param {any} execution
 */
function withData(execution) {
  if (typeof execution.data !== 'string') return execution;
  const { parse } = createRequire(path.join(n8nHost.directory, 'node_modules', 'n8n', 'package.json'))('flatted');
  return { ...execution, data: parse(execution.data) };
}

/**
 * @template T
 * @param {string} what
 * @param {number} deadlineMs
 * @param {() => Promise<T | undefined | false>} attempt
 * @returns {Promise<T>}
 */
async function poll(what, deadlineMs, attempt) {
  const deadline = performance.now() + deadlineMs;
  while (performance.now() < deadline) {
    const result = await attempt();
    if (result) return result;
    await sleep(pollIntervalMs);
  }
  throw new Error(`Waited ${deadlineMs} ms in vain for ${what}`);
}
