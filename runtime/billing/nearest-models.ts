import { editDistance } from '../util/text/edit-distance';
import { turn } from '../util/turn';

const SHOWN = 3;
/** What a list of another vendor's models of the same name has to be better by. */
const OTHER_VENDOR = 4;

/** The listed ids that are most like one that is not listed, the most alike first. */
export async function nearestModels(id: string, listed: readonly string[]): Promise<readonly string[]> {
  const wanted = partsOf(id);
  let best: readonly Compared[] = [];
  for (const candidate of listed) {
    await turn();
    const most = best[SHOWN - 1]?.distance ?? Infinity;
    const compared = { candidate, distance: distance(wanted, partsOf(candidate), most) };
    if (compared.distance <= most) best = [...best, compared].sort(byLikeness).slice(0, SHOWN);
  }
  return best.map(({ candidate }) => candidate);
}

interface Compared {
  readonly candidate: string;
  readonly distance: number;
}

function byLikeness(one: Compared, other: Compared): number {
  return one.distance - other.distance || one.candidate.localeCompare(other.candidate);
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

/** Infinite for more than `most`. */
function distance(one: Parts, other: Parts, most: number): number {
  const others = (one.vendor === other.vendor ? 0 : OTHER_VENDOR) + (one.variant === other.variant ? 0 : 0.5);
  return others > most ? Infinity : editDistance(one.name, other.name, most - others) + others;
}
