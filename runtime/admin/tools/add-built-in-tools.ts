import * as z from 'zod/v4';

import { seedTools } from '../../storage/schema/seed-tools';
import { strictObject } from '../../util/known-keys';
import { operation } from '../operation';

export const addBuiltInTools = operation({
  name: 'tool.addBuiltIn',
  title: 'Add Built-In Tools',
  action: 'Add the built-in tools',
  description: 'Add the tools that come with this package to the catalogue; no tenant is given any of them',
  input: strictObject({
    update: z.boolean().default(false).meta({
      description: 'Whether to reset existing tools, except their credentials and time-outs',
    }),
  }),
  run: ({ withPatience }, given) => withPatience((postgres) => seedTools(postgres, given)),
});
