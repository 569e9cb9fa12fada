import type { ICredentialDataDecryptedObject, INode, INodeParameters, INodeType, IRun } from 'n8n-workflow';

import { postgresCredential } from '../../../scripts/lib/postgres-credential.mjs';
import { addTenant, createMigratedDatabase, type TestDatabase } from '../servers/database';
import { type ModelServer, startModelServer } from '../servers/model-server';
import { runInEngine } from './n8n-engine';
import { type Wire, wired } from './sub-nodes';

export const NODE_TYPE = 'n8n-nodes-universal-ai-agent.universalAiAgent';

interface ConnectedRun {
  /** Beside those of a task of the tenant for the tier pro. */
  readonly parameters?: INodeParameters;
  readonly node?: Partial<INode>;
  readonly wires: readonly Wire[];
  readonly nodeTypes: Readonly<Record<string, INodeType>>;
  readonly items?: readonly object[];
}

export interface ConnectedWorld {
  readonly database: () => TestDatabase;
  /** What it has received is forgotten before each test. */
  readonly models: () => ModelServer;
  /** Runs a workflow of our node, named Agent, and what is wired to it. */
  readonly run: (request: ConnectedRun) => Promise<IRun>;
}

/** Our node in n8n's engine, with a tenant, a database and a model server for the test file that calls this. */
export function connectedWorld(): ConnectedWorld {
  let database: TestDatabase;
  let models: ModelServer;
  let tenant: string;
  let credentials: Record<string, ICredentialDataDecryptedObject>;
  beforeAll(async () => {
    database = await createMigratedDatabase();
    models = await startModelServer();
    tenant = await addTenant(database);
    credentials = {
      openRouterApi: { apiKey: 'sk-node', url: models.url },
      postgres: { ...postgresCredential(database.url), maxConnections: 100 },
    };
  });
  afterAll(() => Promise.all([models.close(), database.close()]));
  beforeEach(() => {
    models.received.length = 0;
  });

  const run = ({ parameters, node, wires, nodeTypes, items = [{}] }: ConnectedRun): Promise<IRun> => {
    const agent: INode = {
      id: 'agent-node',
      name: 'Agent',
      type: NODE_TYPE,
      typeVersion: 4,
      position: [0, 0],
      parameters: { tenantId: { __rl: true, mode: 'id', value: tenant }, tier: 'pro', message: 'hello', ...parameters },
      credentials: { openRouterApi: { id: '1', name: 'OpenRouter' }, postgres: { id: '2', name: 'Postgres' } },
      ...node,
    };
    return runInEngine({ workflow: wired(agent, wires), items: items as never, credentials, nodeTypes });
  };
  return { database: () => database, models: () => models, run };
}
