import { readTenantId } from '../../tasks/read-task';
import { UsageError } from '../arguments';

const ALL_TENANTS = 'all';
/** The tenants that get rows: these, or all that are active. */
export type TenantIds = readonly string[] | typeof ALL_TENANTS;

const DEFAULT_TENANT = '={{ $json.tenant_id }}';

interface Tenants {
  /** What the new nodes have. */
  readonly parameter: string;
  readonly apply?: TenantIds;
}

interface GivenOptions {
  readonly tenant?: readonly string[];
  readonly apply?: boolean;
}

/** One id or an expression for the node; with --apply the tenants that get the rows too. */
export function readTenants({ tenant = [], apply = false }: GivenOptions): Tenants {
  const expressions = tenant.filter(isExpression).map((text) => text.replace(/^=?/, '='));
  const ids = readIds(tenant.filter((text) => !isExpression(text)));
  checkTenants({ expressions, ids, apply });
  // Several tenants share the workflow: the items say whose they are.
  const own = ids !== ALL_TENANTS && ids.length === 1 ? ids[0] : undefined;
  return { parameter: expressions[0] ?? own ?? DEFAULT_TENANT, apply: apply ? ids : undefined };
}

function readIds(texts: readonly string[]): TenantIds {
  const words = wordsOf(texts);
  if (!words.includes(ALL_TENANTS)) return [...new Set(words.map(readTenantId))];
  if (words.length > 1) throw new UsageError('--tenant takes ids, or all, not both.');
  return ALL_TENANTS;
}

interface GivenTenants {
  readonly expressions: readonly string[];
  readonly ids: TenantIds;
  readonly apply: boolean;
}

function checkTenants({ expressions, ids, apply }: GivenTenants): void {
  if (expressions.length > 1) throw new UsageError('--tenant takes one expression.');
  if (apply) {
    if (ids.length === 0) throw new UsageError('--apply needs --tenant ID,... or --tenant all.');
    return;
  }
  if (ids === ALL_TENANTS) throw new UsageError('--tenant all needs --apply.');
  if (ids.length + expressions.length > 1) throw new UsageError('Several values of --tenant need --apply.');
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
