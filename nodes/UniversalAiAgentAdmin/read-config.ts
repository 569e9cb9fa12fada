import type { ICredentialDataDecryptedObject, IExecuteFunctions } from 'n8n-workflow';

import { credentialText, readDatabase } from '../shared/database';
import type { Library } from '../shared/item';
import { readRedis } from '../shared/redis';
import { credentials } from './panel/description';
import { isShown } from './read-input';

type Config = Parameters<Library['useRuntime']>[0];

/** The credentials of the node as the runtime's configuration; only the database has to be there. */
export async function readConfig(context: IExecuteFunctions, library: Library): Promise<Config> {
  const [postgres, openRouter, openAi, vault, redis] = await Promise.all([
    context.getCredentials('postgres'),
    optional(context, 'openRouterApi'),
    optional(context, 'openAiApi'),
    optional(context, 'universalAiAgentVaultApi'),
    optional(context, 'redis'),
  ]);
  const provider = openRouter ?? openAi;
  return {
    database: readDatabase(library, postgres),
    ...(provider === undefined ? {} : { model: readProvider(provider) }),
    ...(vault === undefined ? {} : { vaultKey: credentialText(vault)('secretKey') }),
    ...(redis === undefined ? {} : { redis: readRedis(redis) }),
  };
}

async function optional(context: IExecuteFunctions, type: string): Promise<ICredentialDataDecryptedObject | undefined> {
  const description = credentials.find(({ name }) => name === type);
  // n8n finds none that the panel hides.
  const isHidden = description !== undefined && !isShown(description, context, 0);
  if (isHidden || context.getNode().credentials?.[type] === undefined) return undefined;
  const credential: ICredentialDataDecryptedObject = await context.getCredentials(type);
  return credential;
}

function readProvider(credential: ICredentialDataDecryptedObject): Config['model'] {
  const text = credentialText(credential);
  return { apiKey: text('apiKey'), baseUrl: text('url') };
}
