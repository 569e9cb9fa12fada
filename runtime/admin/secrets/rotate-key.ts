import * as z from 'zod/v4';

import { createVaultStore } from '../../storage/postgres/vault-store';
import { strictObject } from '../../util/known-keys';
import { encryptPlaintext } from '../../vault/encrypt-rows';
import { rotateVault } from '../../vault/rotate-key';
import type { AdminHost } from '../contract/host';
import { operation } from '../operation';
import { needSealer } from './secret-scope';

export const rotateKey = operation({
  name: 'secret.rotate',
  title: 'Rotate Key',
  action: 'Rotate the vault key',
  description: 'Encrypt everything anew under the first vault key',
  needs: ['vault'],
  input: strictObject({}),
  run: ({ vault, sealer }, _given, host) =>
    rotateVault({ store: vault, sealer: needSealer(sealer), onProgress: progressOf(host) }),
  isGood: ({ unreadable, changed }) => unreadable.length + changed.length === 0,
});

export const encryptSecrets = operation({
  name: 'secret.encrypt',
  title: 'Encrypt Plain Text',
  action: 'Encrypt plain-text secrets',
  description: 'Move plain-text secrets from rows into the vault',
  needs: ['vault'],
  input: strictObject({
    dryRun: z
      .boolean()
      .default(false)
      .meta({ initial: true, description: 'Whether to only report what would be moved' }),
  }),
  run: ({ withPatience, sealer }, { dryRun }, host) => {
    const request = { sealer: needSealer(sealer), isDryRun: dryRun, onProgress: progressOf(host) };
    return withPatience((postgres) => encryptPlaintext({ ...request, store: createVaultStore(postgres) }));
  },
  isGood: ({ left }) => left.length === 0,
});

const progressOf = ({ onProgress = () => undefined }: AdminHost): NonNullable<AdminHost['onProgress']> => onProgress;
