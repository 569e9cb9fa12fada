import * as z from 'zod/v4';

import { makeSqlRole } from '../../storage/schema/sql-role';
import { strictObject } from '../../util/known-keys';
import { operation } from '../operation';

export const setSqlRole = operation({
  name: 'sqlRole.set',
  title: 'Set',
  action: 'Set the SQL role',
  description: 'Create or repair the role of the tool sql_query; a generated password is returned once',
  input: strictObject({
    name: z.string().meta({ placeholder: 'agent_reader' }),
    tables: z.array(z.string().min(1)).default([]).meta({
      whole: true,
      placeholder: 'orders',
      description: 'Your own tables that queries may read. Each needs row-level security.',
    }),
    password: z.string().optional().meta({
      secret: true,
      description: 'Empty generates one. The result returns it once, and n8n keeps it in the data of the execution.',
    }),
  }),
  run: async ({ withPatience }, given) => {
    const { role, isNew, tables, password } = await withPatience((postgres) => makeSqlRole(postgres, given));
    return { role, is_new: isNew, tables, ...(password === undefined ? {} : { password }) };
  },
});
