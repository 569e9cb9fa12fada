import path from 'node:path';

/** Folder of the pictures, to be looked at. With UPDATE_PICTURES=1 those of README and docs are taken anew. */
export const PICTURES = path.resolve(
  __dirname,
  '../../..',
  process.env.UPDATE_PICTURES === '1' ? 'docs/images' : '.cache/screenshots',
);
