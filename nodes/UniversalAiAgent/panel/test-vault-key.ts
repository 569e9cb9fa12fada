import type { ICredentialsDecrypted, ICredentialTestFunctions, INodeCredentialTestResult } from 'n8n-workflow';

const KEY_BYTES = 32;

/** n8n's "Test" button for the vault key, or for several with commas between. */
export function testVaultKey(
  this: ICredentialTestFunctions,
  { data }: ICredentialsDecrypted,
): Promise<INodeCredentialTestResult> {
  const keys = data?.secretKey;
  const areKeys = typeof keys === 'string' && keys.split(',').every(isKey);
  return Promise.resolve(
    areKeys
      ? { status: 'OK', message: 'This is a vault key.' }
      : { status: 'Error', message: 'Not 32 bytes as base64. Make one with: universal-ai-agent keygen' },
  );
}

/** Reads a key as the runtime does: base64 or base64url, and nothing that Node would skip. */
function isKey(text: string): boolean {
  const key = text.trim().replace(/=$/, '').replaceAll('+', '-').replaceAll('/', '_');
  const bytes = Buffer.from(key, 'base64url');
  return bytes.length === KEY_BYTES && bytes.toString('base64url') === key;
}
