import * as z from 'zod/v4';

import { strictObject } from '../../util/known-keys';
import { rotateVault } from '../../vault/rotate-key';
import { operation } from '../operation';
import { needSealer } from './secret-scope';

type OnProgress = (progress: string) => void;

export const rotateKey = operation({
  name: 'secret.rotate',
  title: 'Rotate Key',
  action: 'Rotate the vault key',
  description: 'Encrypt everything anew under the first key of the credential',
  needs: ['vault'],
  input: strictObject({
    onProgress: z.custom<OnProgress>((value) => typeof value === 'function', 'must be a function').optional(),
  }),
  run: async ({ vault, sealer }, { onProgress = () => undefined }) =>
    rotateVault({ store: vault, sealer: needSealer(sealer), onProgress }),
});
