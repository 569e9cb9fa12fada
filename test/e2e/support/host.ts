import { readFileSync } from 'node:fs';

import { executionOperations, type Operations, workflowOperations } from '../../../scripts/lib/n8n-rest.mjs';
import { createSession, type Owner, type Rest } from '../../../scripts/lib/n8n-session.mjs';
import { postgresCredential } from '../../../scripts/lib/postgres-credential.mjs';

export type N8n = Operations & {
  readonly rest: Rest;
  readonly baseUrl: string;
  readonly owner: Owner;
  readonly log: () => string;
};

/** A session with the n8n of this test run. */
export async function connect(): Promise<N8n> {
  const { baseUrl, owner, logFile } = JSON.parse(process.env.TEST_N8N ?? '{}') as {
    baseUrl: string;
    owner: Owner;
    logFile: string;
  };
  const { rest, logIn } = createSession(baseUrl);
  await logIn(owner);
  return {
    ...workflowOperations(rest),
    ...executionOperations(rest, baseUrl),
    rest,
    baseUrl,
    owner,
    log: () => readFileSync(logFile, 'utf8'),
  };
}

export interface Credential {
  readonly id: string;
  readonly name: string;
}

export async function addModelCredential(
  n8n: N8n,
  data: { readonly apiKey: string; readonly url: string },
): Promise<Credential> {
  const name = 'OpenRouter';
  return { id: await n8n.createCredential({ name, type: 'openRouterApi', data }), name };
}

export async function addPostgresCredential(n8n: N8n, databaseUrl: string): Promise<Credential> {
  const name = 'Postgres';
  const data = postgresCredential(databaseUrl);
  return { id: await n8n.createCredential({ name, type: 'postgres', data }), name };
}

/** As much of a stored execution as tests look at. */
export interface StoredExecution {
  readonly status: string;
  readonly data: {
    readonly resultData: {
      readonly error?: { readonly message: string; readonly description: string };
      readonly runData: Readonly<
        Record<
          string,
          readonly [{ readonly data: { readonly main: readonly (readonly { readonly json: object }[])[] } }]
        >
      >;
    };
  };
}

/** The id of a workflow's newest execution. */
export async function lastExecutionId(n8n: N8n, workflowId: string): Promise<string> {
  const [last] = (await n8n.executions(workflowId)) as { id: string }[];
  if (last === undefined) throw new Error('the workflow has not been executed');
  return last.id;
}

/** An execution once it has ended. */
export async function ended(n8n: N8n, executionId: string): Promise<StoredExecution> {
  return (await n8n.waitForExecution(executionId, { deadlineMs: 60_000 })) as StoredExecution;
}

/** Webhook, then a list of items out of its body, then our node. */
export function agentWorkflow(options: {
  readonly path: string;
  readonly parameters: object;
  readonly credentials: { readonly openRouterApi: Credential; readonly postgres: Credential };
  readonly settings?: object;
}): { readonly name: string; readonly nodes: readonly object[]; readonly connections: object } {
  const node = (name: string, type: string, rest: object): object => ({
    id: `${options.path}-${name}`,
    name,
    type,
    typeVersion: 1,
    position: [0, 0],
    parameters: {},
    ...rest,
  });
  const main = (name: string): object => ({ main: [[{ node: name, type: 'main', index: 0 }]] });
  return {
    name: options.path,
    nodes: [
      node('Webhook', 'n8n-nodes-base.webhook', {
        typeVersion: 2.1,
        webhookId: options.path,
        parameters: {
          httpMethod: 'POST',
          path: options.path,
          responseMode: 'lastNode',
          responseData: 'allEntries',
          options: {},
        },
      }),
      node('Items', 'n8n-nodes-base.splitOut', { parameters: { fieldToSplitOut: 'body.items', options: {} } }),
      node('Agent', 'n8n-nodes-universal-ai-agent.universalAiAgent', {
        typeVersion: 4,
        parameters: options.parameters,
        credentials: options.credentials,
        ...options.settings,
      }),
    ],
    connections: { Webhook: main('Items'), Items: main('Agent') },
  };
}

/** The parameters of a node that takes everything from the item's fields. */
export const FIELDS = {
  tenantId: { __rl: true, mode: 'id', value: '={{ $json.tenant }}' },
  tier: '={{ $json.tier }}',
  systemPrompt: 'Be brief.',
  message: '={{ $json.message }}',
};
