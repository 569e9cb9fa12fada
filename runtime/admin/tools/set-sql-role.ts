import * as z from 'zod/v4';

import { makeSqlRole } from '../../storage/schema/sql-role';
import { strictObject } from '../../util/known-keys';
import { operation } from '../operation';

export const setSqlRole = operation({
  name: 'sqlRole.set',
  title: 'Set',
  action: 'Set the SQL role',
  description: 'Make or repair the role of the tool sql_query; a password that is made is told once',
  input: strictObject({
    name: z.string().meta({ placeholder: 'agent_reader' }),
    tables: z.array(z.string().min(1)).default([]).meta({
      whole: true,
      placeholder: 'orders',
      description: 'Your own tables that queries may read. Each needs row-level security.',
    }),
    password: z.string().optional().meta({
      secret: true,
      description:
        'Empty makes one. The result tells it once, and the execution keeps it as long as n8n keeps its data.',
    }),
  }),
  run: async ({ withPatience }, given) => {
    const { role, isNew, tables, password } = await withPatience((postgres) => makeSqlRole(postgres, given));
    return { role, is_new: isNew, tables, ...(password === undefined ? {} : { password }) };
  },
});
