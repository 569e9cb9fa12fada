import { readTenant, readWhole, UsageError } from '../arguments';
import { command, TENANT, TEXT } from '../command';
import { openRuntime, withAdmin } from '../environment';
import { printJson } from '../output';

const STATES = ['running', 'waiting', 'done', 'failed'] as const;

export const runsCommands = [
  command({
    words: 'runs list',
    usage: '--tenant ID [--state running|waiting|done|failed] [--limit N] [--after NEXT]',
    help: "The tenant's runs, the newest first; --after takes next of the page before.",
    options: { tenant: TENANT, state: TEXT, limit: TEXT, after: TEXT },
    run: (options) => {
      const tenantId = readTenant(options, 'runs list');
      const state = STATES.find((known) => known === options.state);
      if (state !== options.state) throw new UsageError(`--state is one of: ${STATES.join(', ')}.`);
      const limit = readWhole(options.limit, 'limit');
      return withAdmin(({ run }) => run.list({ tenantId, state, limit, after: options.after }));
    },
  }),
  command({
    words: 'runs get',
    names: ['ID'],
    usage: '--tenant ID',
    help: 'One run by its id or the id of its task: result, model calls, tool calls.',
    options: { tenant: TENANT },
    run: (options, [id = '']) => {
      const tenantId = readTenant(options, 'runs get');
      return withAdmin(({ run }) => run.get({ tenantId, id }));
    },
  }),
  command({
    words: 'approvals list',
    usage: '[--tenant ID] [--limit N]',
    help: 'Tool calls that wait for a decision, the longest waiting first.',
    options: { tenant: TENANT, limit: TEXT },
    run: (options) => {
      const tenantId = options.tenant === undefined ? undefined : readTenant(options, 'approvals list');
      const limit = readWhole(options.limit, 'limit');
      return withAdmin(({ approval }) => approval.list({ tenantId, limit }));
    },
  }),
  command({
    words: 'approvals decide',
    names: ['RUN'],
    usage: '--tenant ID --decision approve|deny [--user ID]',
    help: 'Decide on the tool call that a run waits for, and go on with the run.',
    options: { tenant: TENANT, decision: TEXT, user: TEXT },
    run: async ({ decision, user, ...options }, [runId = '']) => {
      const tenantId = readTenant(options, 'approvals decide');
      if (decision !== 'approve' && decision !== 'deny') throw new UsageError('--decision is approve or deny.');
      const runtime = openRuntime();
      try {
        printJson(await runtime.admin.approval.decide({ tenantId, runId, decision, userId: user }));
        return 0;
      } finally {
        await runtime.close();
      }
    },
  }),
];
