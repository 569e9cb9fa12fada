import type { ICredentialsDecrypted, ICredentialTestFunctions, INodeCredentialTestResult } from 'n8n-workflow';

import type * as RuntimeLibrary from '../../../runtime/host';

/** n8n's "Test" button for the role for queries: whether it can log in, and sees one tenant at a time. */
export async function testSqlRole(
  this: ICredentialTestFunctions,
  { data }: ICredentialsDecrypted,
): Promise<INodeCredentialTestResult> {
  const library: typeof RuntimeLibrary = await import('../../../runtime/host');
  try {
    await library.checkSqlRole({ url: typeof data?.secretUrl === 'string' ? data.secretUrl : '' });
    return { status: 'OK', message: 'This role reads the rows of one tenant at a time.' };
  } catch (error) {
    return {
      status: 'Error',
      message: library.isRuntimeError(error) ? `${error.message} ${error.hint}` : String(error),
    };
  }
}
