import { editDistance } from '../util/text/edit-distance';

const SHOWN = 3;
/** What a list of another vendor's models of the same name has to be better by. */
const OTHER_VENDOR = 4;

/** The listed ids that are most like one that is not listed, the most alike first. */
export function nearestModels(id: string, listed: readonly string[]): readonly string[] {
  const wanted = partsOf(id);
  return listed
    .map((candidate) => ({ candidate, distance: distance(wanted, partsOf(candidate)) }))
    .sort((a, b) => a.distance - b.distance || a.candidate.localeCompare(b.candidate))
    .slice(0, SHOWN)
    .map(({ candidate }) => candidate);
}

interface Parts {
  readonly vendor: string;
  readonly name: string;
  readonly variant: string;
}

/** `Anthropic/claude-3.5-sonnet-20241022:beta`: the name without its date, since that is what ids are renamed in. */
function partsOf(id: string): Parts {
  const [, vendor = '', name = '', variant = ''] = /^(?:(.*)\/)?([^/:]*)(?::(.*))?$/.exec(id.toLowerCase()) ?? [];
  const plain = name.replaceAll('.', '-').replace(/-(?:\d{8}|\d{4}-\d{2}-\d{2}|latest)$/, '');
  return { vendor: vendor.replace(/^~/, ''), name: plain, variant };
}

function distance(one: Parts, other: Parts): number {
  const vendors = one.vendor === other.vendor ? 0 : OTHER_VENDOR;
  return editDistance(one.name, other.name) + vendors + (one.variant === other.variant ? 0 : 0.5);
}
