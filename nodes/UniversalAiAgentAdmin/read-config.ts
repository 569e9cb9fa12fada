import type { IExecuteFunctions } from 'n8n-workflow';

import { readCredentials } from '../shared/credentials';
import type { Library } from '../shared/item';
import { credentials } from './panel/description';
import { isShown } from './read-input';

/** The credentials of the node as the runtime's configuration; only the database has to be there. */
export function readConfig(context: IExecuteFunctions, library: Library): ReturnType<typeof readCredentials> {
  const uses = (type: string): boolean => {
    const description = credentials.find(({ name }) => name === type);
    // n8n finds none that the panel hides.
    return description === undefined || isShown(description, context, 0);
  };
  return readCredentials({ context, library, uses });
}
