import type { ICredentialDataDecryptedObject, IExecuteFunctions } from 'n8n-workflow';

import { credentialText, readDatabase } from './database';
import type { Library } from './item';
import { readRedis } from './redis';

type Config = Parameters<Library['useRuntime']>[0];

type CredentialContext = Pick<IExecuteFunctions, 'getCredentials' | 'getNode'>;

interface CredentialReader {
  readonly context: CredentialContext;
  readonly library: Library;
  /** Item whose expressions choose the credential. */
  readonly index?: number;
  /** Reports whether the node uses a credential of this type. */
  readonly uses: (type: string) => boolean;
}

/**
 * Reads the credentials of a node as the runtime's configuration: Postgres, and each optional one that the node has and uses.
 * Rejects with SSH_TUNNEL_UNSUPPORTED.
 */
export async function readCredentials({ context, library, index, uses }: CredentialReader): Promise<Config> {
  const used = async (type: string): Promise<ICredentialDataDecryptedObject | undefined> =>
    uses(type) ? optionalCredential(context, type, index) : undefined;
  // n8n reads each from its database, so they are requested together.
  const [postgres, openRouter, openAi, vault, redis, sql] = await Promise.all([
    context.getCredentials('postgres', index),
    used('openRouterApi'),
    used('openAiApi'),
    used('universalAiAgentVaultApi'),
    used('redis'),
    used('universalAiAgentSqlApi'),
  ]);
  const provider = openRouter ?? openAi;
  return {
    database: readDatabase(library, postgres),
    ...(provider === undefined ? {} : { model: readProvider(provider) }),
    ...(vault === undefined ? {} : { vaultKey: credentialText(vault)('secretKey') }),
    ...(redis === undefined ? {} : { redis: readRedis(redis) }),
    ...(sql === undefined ? {} : { sqlQuery: { database: { url: credentialText(sql)('secretUrl') } } }),
  };
}

/** Returns undefined if no credential was chosen. */
export async function optionalCredential(
  context: CredentialContext,
  type: string,
  index: number | undefined,
): Promise<ICredentialDataDecryptedObject | undefined> {
  if (context.getNode().credentials?.[type] === undefined) return undefined;
  const credential: ICredentialDataDecryptedObject = await context.getCredentials(type, index);
  return credential;
}

/** Reads either provider's credential; only n8n's OpenAI credential has organisation and custom header. */
function readProvider(credential: ICredentialDataDecryptedObject): Config['model'] {
  const text = credentialText(credential);
  const organization = text('organizationId');
  const headers = {
    ...(organization === '' ? {} : { 'OpenAI-Organization': organization }),
    ...(credential.header === true ? { [text('headerName')]: text('headerValue') } : {}),
  };
  return { apiKey: text('apiKey'), baseUrl: text('url'), headers };
}
