import type { TransportCall, TransportReply } from '../../contracts/tools/tool-transport';
import type { JsonObject } from '../../util/json';
import { readPage } from '../web/read-page';
import type { BuiltinTool } from './builtin-tool';
import { fitText } from './fit-json';
import { fetchPageFor, pageConfig, type WebPage } from './web-page';

const DEFAULT_MAX_CHARS = 20_000;
const CUT_MARK = '\n[… cut]';

/** A web page as text for a reader. */
export const webFetch: BuiltinTool = {
  description: 'Gets a public web page as readable text: title, address and text.',
  inputSchema: {
    type: 'object',
    properties: {
      url: { type: 'string', description: 'http or https' },
      max_chars: {
        type: 'integer',
        minimum: 1,
        description: `Where to cut the text; ${DEFAULT_MAX_CHARS} if left out`,
      },
    },
    required: ['url'],
    additionalProperties: false,
  },
  isRepeatable: true,
  config: pageConfig,
  prepare: (settings) => {
    const fetchPage = fetchPageFor(settings);
    return async (call) => {
      const fetched = await fetchPage(call);
      return 'failure' in fetched ? fetched.failure : toReply(fetched.page, call);
    };
  },
};

async function toReply(page: WebPage, call: TransportCall): Promise<TransportReply> {
  const { input, maxOutputBytes } = call;
  const { title, text } = await readText(page, call);
  const maxChars = typeof input.max_chars === 'number' ? input.max_chars : DEFAULT_MAX_CHARS;
  const clipped = text.slice(0, maxChars).toWellFormed();
  const isShort = page.isCut || clipped.length < text.length;
  const json = fitText(clipped, maxOutputBytes, (part, isCut): JsonObject => ({
    url: page.url,
    ...(title === undefined ? {} : { title }),
    text: isShort || isCut ? part + CUT_MARK : part,
    ...(isShort || isCut ? { truncated: true } : {}),
  }));
  return { text: json, isCut: false };
}

async function readText(
  { isHtml, text }: WebPage,
  call: TransportCall,
): Promise<{ readonly title?: string; readonly text: string }> {
  if (!isHtml) return { text };
  const result = await readPage({ kind: 'read', html: text }, call);
  return result.kind === 'page' ? result : { text: '' };
}
