// Runs as a process of its own. It imports no other file of ours, so that tests can start it as it stands.
import { Readability } from '@mozilla/readability';
import { parseHTML } from 'linkedom';

/** What a page is asked for: its readable text, or the texts that a CSS selector finds. */
export type PageJob =
  | { readonly kind: 'read'; readonly html: string }
  | { readonly kind: 'select'; readonly html: string; readonly selector: string; readonly maxMatches: number };

export type PageResult =
  | { readonly kind: 'page'; readonly title: string; readonly text: string }
  | { readonly kind: 'matches'; readonly texts: readonly string[]; readonly isCut: boolean }
  | { readonly kind: 'invalid-selector'; readonly reason: string };

/** The part of the DOM that is used here. */
interface PageNode {
  readonly textContent: string | null;
  readonly nodeType: number;
  readonly nodeName: string;
  readonly nodeValue: string | null;
  readonly firstChild: PageNode | null;
  readonly nextSibling: PageNode | null;
  readonly parentNode: PageNode | null;
}
interface PageElement extends PageNode {
  readonly remove: () => void;
}
interface PageDocument {
  readonly documentElement: PageElement;
  readonly querySelector: (selector: string) => PageElement | null;
  readonly querySelectorAll: (selector: string) => ArrayLike<PageElement> & Iterable<PageElement>;
}

/** Beyond these, looking for the article takes longer than it is worth: all of the text is given. */
const MAX_ELEMENTS = 20_000;
const MAX_DEPTH = 200;

const TEXT_NODE = 3;
/** None of this is text for a reader. */
const NEVER_TEXT = 'title, script, style, noscript, template, iframe, object, svg, link, meta';
const BLOCK =
  /^(address|article|aside|blockquote|br|dd|div|dl|dt|figcaption|figure|footer|form|h[1-6]|header|hr|li|main|nav|ol|p|pre|section|table|td|th|tr|ul)$/i;

function run(job: PageJob): PageResult {
  const document = parse(job.html);
  const title = document.querySelector('title')?.textContent ?? '';
  for (const element of document.querySelectorAll(NEVER_TEXT)) element.remove();
  if (job.kind === 'select') return select(document, job);
  return { kind: 'page', title: title.replace(/\s+/g, ' ').trim(), text: readableText(document) };
}

/** The parser makes no document of what has no root. */
function parse(html: string): PageDocument {
  const whole = /<html[\s>]/i.test(html) ? html : `<html><body>${html}</body></html>`;
  return (parseHTML(whole) as unknown as { readonly document: PageDocument }).document;
}

function select(document: PageDocument, job: PageJob & { readonly kind: 'select' }): PageResult {
  let found: readonly PageElement[];
  try {
    found = Array.from(document.querySelectorAll(job.selector));
  } catch (error) {
    return { kind: 'invalid-selector', reason: error instanceof Error ? error.message : String(error) };
  }
  const texts = found.slice(0, job.maxMatches).map(blockText);
  return { kind: 'matches', texts, isCut: found.length > job.maxMatches };
}

/** The article of the page where one is found, else all of its text. */
function readableText(document: PageDocument): string {
  // Looking for the article changes the document.
  const whole = blockText(document.documentElement);
  const article = isModest(document) ? articleText(document) : '';
  return article === '' ? whole : article;
}

function articleText(document: PageDocument): string {
  const options = { serializer: (node: unknown) => node };
  const reader = new Readability(...([document, options] as unknown as ConstructorParameters<typeof Readability>));
  const article = reader.parse() as { readonly content?: PageNode | null } | null;
  const content = article?.content ?? null;
  return content === null ? '' : blockText(content);
}

function isModest(document: PageDocument): boolean {
  if (document.querySelectorAll('*').length > MAX_ELEMENTS) return false;
  let deepest = 0;
  walk(document.documentElement, (_node, depth) => (deepest = Math.max(deepest, depth)));
  return deepest <= MAX_DEPTH;
}

/** The text with a line for each block. */
function blockText(root: PageNode): string {
  const parts: string[] = [];
  walk(root, (node) => {
    if (node.nodeType === TEXT_NODE) parts.push((node.nodeValue ?? '').replace(/\s+/g, ' '));
    else if (BLOCK.test(node.nodeName)) parts.push('\n');
  });
  return parts
    .join('')
    .replace(/ {2,}/g, ' ')
    .replace(/ ?\n ?/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

/**
 * Visits a node when it is entered and when it is left, without recursion: a page may be nested a hundred thousand
 * deep.
 */
function walk(root: PageNode, visit: (node: PageNode, depth: number) => void): void {
  let depth = 0;
  let node: PageNode = root;
  for (;;) {
    visit(node, depth);
    if (node.firstChild !== null) {
      node = node.firstChild;
      depth++;
      continue;
    }
    while (node !== root && node.nextSibling === null && node.parentNode !== null) {
      node = node.parentNode;
      depth--;
      if (node.nodeType !== TEXT_NODE) visit(node, depth);
    }
    if (node === root || node.nextSibling === null) return;
    node = node.nextSibling;
  }
}

process.once('message', (job) => process.send?.(run(job as PageJob)));
