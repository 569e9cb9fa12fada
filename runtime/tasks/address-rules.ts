import type { QueueTask } from '../contracts/queue';
import type { Tenant, TenantStore } from '../contracts/tenant';
import type { Outgoing, OutgoingRules } from '../contracts/tools/outgoing';
import type { EgressFilter } from '../contracts/tools/tool';
import { RuntimeError } from '../errors/runtime-error';
import { errorText } from '../errors/to-runtime-error';
import { isTextList } from '../util/json';

/** Where the addresses of a task may lead. */
export interface AddressRules {
  readonly webhooks: OutgoingRules;
  /** The rules for the request that a task itself is. */
  readonly requests: OutgoingRules;
}

interface CallbackRulesParts {
  /** Undefined where no database is connected: then only the operator's hosts are known. */
  readonly tenants?: TenantStore;
  readonly outgoing: Outgoing;
  /** The operator's, for every tenant. */
  readonly hosts: readonly string[];
}

/** Rejects with TENANT_INACTIVE, TENANT_NOT_FOUND, SETTING_INVALID or a DB_ code. */
export type RulesOf = (
  task: Pick<QueueTask, 'task_type' | 'callback'>,
  whose: { readonly tenantId: string; readonly egress?: EgressFilter },
) => Promise<AddressRules>;

/** Asks for the tenant only where a task has an address in it. */
export function createCallbackRules(parts: CallbackRulesParts): RulesOf {
  return async ({ task_type, callback }, { tenantId, egress }) => {
    const isRequest = task_type === 'http_request' || task_type === 'webhook_call';
    const isNeeded = isRequest || callback?.notify_webhook !== undefined;
    const snapshot = isNeeded ? await parts.tenants?.load({ tenantId, modelIds: [] }) : undefined;
    if (isRequest && snapshot?.tenant.isActive === false) throw new RuntimeError('TENANT_INACTIVE', { tenantId });
    return rulesFor(parts, snapshot?.tenant, egress);
  };
}

function rulesFor(
  { outgoing, hosts }: CallbackRulesParts,
  tenant: Tenant | undefined,
  egress: EgressFilter | undefined,
): AddressRules {
  const all = [...hosts, ...readCallbackHosts(tenant?.settings.callbackHosts)];
  const allowsHost = readHosts(outgoing, all);
  return {
    webhooks: { allowsHost, isRestricted: all.length > 0, egress },
    requests: { allowsHost, isRestricted: false, egress },
  };
}

function readHosts(outgoing: Outgoing, entries: readonly string[]): OutgoingRules['allowsHost'] {
  try {
    return outgoing.readHosts(entries);
  } catch (error) {
    throw new RuntimeError('SETTING_INVALID', { setting: 'callback_hosts', reason: errorText(error) });
  }
}

/** Rules that cannot be read must not fall away. */
function readCallbackHosts(given: unknown): readonly string[] {
  if (given === undefined || given === null) return [];
  if (isTextList(given)) return given;
  throw new RuntimeError('SETTING_INVALID', { setting: 'callback_hosts', reason: 'it is no list of hosts' });
}
