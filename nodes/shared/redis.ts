import type { ICredentialDataDecryptedObject } from 'n8n-workflow';

import type * as RuntimeLibrary from '../../runtime/host';
import { credentialText } from './database';

/** n8n's Redis credential as the runtime's configuration, which says so when it makes no sense. */
export function readRedis(
  credential: ICredentialDataDecryptedObject,
): NonNullable<RuntimeLibrary.RuntimeConfig['redis']> {
  const { port, database, ssl, disableTlsVerification } = credential;
  const text = credentialText(credential);
  const encoded = (name: string): string => encodeURIComponent(text(name));
  const host = text('host').includes(':') ? `[${text('host')}]` : text('host');
  const place = `${host}:${Number(port) || 6379}/${Number(database) || 0}`;
  return {
    url: `${ssl === true ? 'rediss' : 'redis'}://${encoded('user')}:${encoded('password')}@${place}`,
    rejectUnauthorized: disableTlsVerification !== true,
  };
}
