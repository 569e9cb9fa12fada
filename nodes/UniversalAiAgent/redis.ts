import type { ICredentialDataDecryptedObject } from 'n8n-workflow';

import type * as RuntimeDoor from '../../runtime';
import { credentialText } from './database';

/** n8n's Redis credential as the runtime's configuration. */
export function readRedis(
  credential: ICredentialDataDecryptedObject,
): NonNullable<RuntimeDoor.RuntimeConfig['redis']> {
  const { port, database, ssl, disableTlsVerification } = credential;
  const text = credentialText(credential);
  const url = new URL(`${ssl === true ? 'rediss' : 'redis'}://localhost`);
  url.hostname = text('host');
  url.port = String(Number(port) || '');
  url.username = encodeURIComponent(text('user'));
  url.password = encodeURIComponent(text('password'));
  url.pathname = `/${Number(database) || 0}`;
  return { url: url.href, rejectUnauthorized: disableTlsVerification !== true };
}
