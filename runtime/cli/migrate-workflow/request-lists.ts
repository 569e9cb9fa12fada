import { readTenant, UsageError } from '../arguments';
import type { MigrateOptions, MigrateRequest } from './request';

export const ALL_TENANTS = 'all';
const DEFAULT_TENANT = '={{ $json.tenant_id }}';

interface Tenants {
  /** What the new nodes have. */
  readonly parameter: string;
  readonly apply: MigrateRequest['apply'];
}

/** One id or an expression for the node; with --apply the tenants that get the rows too. */
export function readTenants({ tenant = [], apply }: Pick<MigrateOptions, 'tenant' | 'apply'>): Tenants {
  const [expression, ...others] = tenant.filter(isExpression);
  if (others.length > 0) throw new UsageError('--tenant takes one expression.');
  const words = wordsOf(tenant.filter((text) => !isExpression(text)));
  const parameter = expression === undefined ? undefined : expression.replace(/^=?/, '=');
  if (words.includes(ALL_TENANTS)) {
    if (words.length > 1) throw new UsageError('--tenant takes ids, or all, not both.');
    if (apply !== true) throw new UsageError('--tenant all needs --apply.');
    return { parameter: parameter ?? DEFAULT_TENANT, apply: ALL_TENANTS };
  }
  const ids = [...new Set(words.map((word) => readTenant({ tenant: word }, '--tenant')))];
  if (apply === true && ids.length === 0) throw new UsageError('--apply needs --tenant ID,... or --tenant all.');
  if (apply !== true && ids.length + (parameter === undefined ? 0 : 1) > 1) {
    throw new UsageError('Several values of --tenant need --apply.');
  }
  // Several tenants share the workflow: the items say whose they are.
  const own = ids.length === 1 ? ids[0] : undefined;
  return { parameter: parameter ?? own ?? DEFAULT_TENANT, apply: apply === true ? ids : undefined };
}

/** `OURS=THEIRS,...`: names may hold an equals sign, codes of tiers do not. */
export function readTierMap(texts: readonly string[]): ReadonlyMap<string, string> {
  const map = new Map<string, string>();
  for (const word of wordsOf(texts)) {
    const at = word.lastIndexOf('=');
    const [from, to] = [word.slice(0, at).trim(), word.slice(at + 1).trim()];
    if (at < 1 || from === '' || !/^[^\s\p{Cc}]{1,20}$/u.test(to)) {
      throw new UsageError('--tier-map is OURS=THEIRS,...: THEIRS is the code of a tier of the database.');
    }
    if (map.has(from)) throw new UsageError('--tier-map names something twice.');
    map.set(from, to);
  }
  return map;
}

const isExpression = (text: string): boolean => text.startsWith('=') || text.includes('{{');

function wordsOf(texts: readonly string[]): readonly string[] {
  return texts
    .flatMap((text) => text.split(','))
    .map((word) => word.trim())
    .filter((word) => word !== '');
}
