import type { ICredentialDataDecryptedObject } from 'n8n-workflow';

import type * as RuntimeLibrary from '../../runtime/host';

type Library = typeof RuntimeLibrary;

/** n8n's default is 100, which would starve other users of the database. */
const MAX_CONNECTIONS = 10;

/** n8n's Postgres credential as the runtime's configuration. Throws SSH_TUNNEL_UNSUPPORTED. */
export function readDatabase(
  library: Library,
  credential: ICredentialDataDecryptedObject,
): RuntimeLibrary.DatabaseConfig {
  if (credential.sshTunnel === true) throw new library.RuntimeError('SSH_TUNNEL_UNSUPPORTED');
  const { port, maxConnections } = credential;
  const text = credentialText(credential);
  return {
    host: text('host'),
    port: Number(port),
    database: text('database'),
    user: text('user'),
    password: text('password'),
    maxConnections: Math.min(Number(maxConnections) || MAX_CONNECTIONS, MAX_CONNECTIONS),
    ssl: readSsl(credential),
  };
}

/** A reader of a credential's fields as text; what is not set is empty. */
export function credentialText(credential: ICredentialDataDecryptedObject): (name: string) => string {
  return (name) => {
    const value = credential[name];
    return typeof value === 'string' ? value : '';
  };
}

function readSsl(credential: ICredentialDataDecryptedObject): RuntimeLibrary.DatabaseConfig['ssl'] {
  if (credential.allowUnauthorizedCerts === true) return { rejectUnauthorized: false };
  return credential.ssl !== undefined && credential.ssl !== 'disable';
}
