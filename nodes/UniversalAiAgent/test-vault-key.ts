import type { ICredentialsDecrypted, ICredentialTestFunctions, INodeCredentialTestResult } from 'n8n-workflow';

const KEY_BYTES = 32;

/** n8n's "Test" button for the vault key. */
export function testVaultKey(
  this: ICredentialTestFunctions,
  { data }: ICredentialsDecrypted,
): Promise<INodeCredentialTestResult> {
  const key = data?.secretKey;
  const isKey = typeof key === 'string' && Buffer.from(key, 'base64').length === KEY_BYTES;
  return Promise.resolve(
    isKey
      ? { status: 'OK', message: 'This is a vault key.' }
      : { status: 'Error', message: 'Not 32 bytes as base64. Make one with: universal-ai-agent keygen' },
  );
}
