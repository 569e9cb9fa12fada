import type { TransportReply } from '../../contracts/tools/tool-transport';
import { RuntimeError } from '../../errors/runtime-error';
import type { JsonValue } from '../../util/json';
import { issueOfName } from '../../util/variables/store';
import { readPage } from '../web/read-page';
import type { BuiltinTool } from './builtin-tool';
import { fitList } from './fit-json';
import { fetchPageFor, pageConfig } from './web-page';

const MAX_MATCHES = 50;
const MAX_SELECTOR_LENGTH = 500;

/** The texts of a page that a CSS selector finds. */
export const extract: BuiltinTool = {
  description: `Gets the texts that a CSS selector finds on a public web page, at most ${MAX_MATCHES}.`,
  inputSchema: {
    type: 'object',
    properties: {
      url: { type: 'string', description: 'http or https' },
      selector: { type: 'string', description: 'CSS selector', maxLength: MAX_SELECTOR_LENGTH },
      store_as: { type: 'string', description: 'Name of a variable that keeps the text, for {{name}} in later calls' },
    },
    required: ['url', 'selector'],
    additionalProperties: false,
  },
  isRepeatable: true,
  setsVariables: true,
  config: pageConfig,
  prepare: (settings) => {
    const fetchPage = fetchPageFor(settings);
    const { name: tool } = settings;
    return async (call): Promise<TransportReply> => {
      const { selector, store_as: variable } = call.input;
      if (typeof selector !== 'string' || selector.length > MAX_SELECTOR_LENGTH) {
        const issues = `selector must be string of at most ${MAX_SELECTOR_LENGTH} characters`;
        throw new RuntimeError('TOOL_INVALID_ARGS', { tool, issues });
      }
      refuseName(tool, variable);
      const fetched = await fetchPage(call);
      if ('failure' in fetched) return fetched.failure;
      const { url, isHtml, text, isCut } = fetched.page;
      if (!isHtml) throw new RuntimeError('TOOL_FAILED', { tool, reason: 'the address gives no HTML page' });
      const found = await readPage({ kind: 'select', html: text, selector, maxMatches: MAX_MATCHES }, call);
      if (found.kind === 'invalid-selector') {
        throw new RuntimeError('TOOL_INVALID_ARGS', { tool, issues: `selector is not valid: ${found.reason}` });
      }
      const matches = found.kind === 'matches' ? found : { texts: [], isCut: false };
      const json = fitList(matches.texts, call.maxOutputBytes, (kept, isShort) => ({
        url,
        matches: kept,
        ...(isShort || matches.isCut || isCut ? { truncated: true } : {}),
      }));
      const as = typeof variable === 'string' && variable !== '' ? variable : undefined;
      return { text: json, isCut: false, kept: { text: matches.texts.join('\n'), as } };
    };
  },
};

/** Throws TOOL_INVALID_ARGS before anything is fetched. */
function refuseName(tool: string, variable: JsonValue | undefined): void {
  // Models fill fields that they need not.
  if (variable === undefined || variable === null || variable === '') return;
  const issue = typeof variable === 'string' ? issueOfName(variable) : 'it must be string';
  if (issue !== undefined) throw new RuntimeError('TOOL_INVALID_ARGS', { tool, issues: `store_as: ${issue}` });
}
