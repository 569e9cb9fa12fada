import * as z from 'zod/v4';

import type { ToolSettings, TransportCall } from '../../contracts/tools/tool-transport';
import type { TransportReply } from '../../contracts/tools/tool-transport';
import { RuntimeError } from '../../errors/runtime-error';
import { httpFailure } from '../transports/send-request';
import { contentType, decodeBody, isCompressed, isText } from '../web/decode-body';
import { askWebFor } from './ask-web';
import { configOf, readConfig } from './read-config';

/** So much of a page is read; what comes after is left out. */
const MAX_PAGE_BYTES = 1024 * 1024;

export const pageConfig = configOf({ only_allowed_hosts: z.boolean().default(false) });

/** A page as it came. */
export interface WebPage {
  readonly url: string;
  readonly isHtml: boolean;
  readonly text: string;
  readonly isCut: boolean;
}

type FetchPage = (call: TransportCall) => Promise<{ readonly page: WebPage } | { readonly failure: TransportReply }>;

/** Gets the page at the argument `url`. Reads the row once, and throws an Error for what cannot be used in it. */
export function fetchPageFor(settings: ToolSettings): FetchPage {
  const { name: tool } = settings;
  const { only_allowed_hosts: isRestricted } = readConfig(pageConfig, settings);
  const ask = askWebFor(settings, { isRestricted });
  return async (call) => {
    const { url } = call.input;
    if (typeof url !== 'string') throw new RuntimeError('TOOL_INVALID_ARGS', { tool, issues: 'url must be string' });
    const reply = await ask(call, { url, method: 'GET', limitBytes: MAX_PAGE_BYTES });
    const type = contentType(reply);
    if (!isText(type) || isCompressed(reply)) {
      const what = isCompressed(reply) ? 'compressed' : type.type;
      throw new RuntimeError('TOOL_FAILED', { tool, reason: `the answer is ${what}, not text` });
    }
    const text = decodeBody(reply, type);
    if (reply.status >= 400) {
      const failure = httpFailure(reply.status, reply.headers['retry-after']);
      return { failure: { text, isCut: false, failure } };
    }
    return { page: { url: reply.url.href, isHtml: isHtml(type.type, text), text, isCut: reply.isCut } };
  };
}

function isHtml(type: string, text: string): boolean {
  return type === 'text/html' || type === 'application/xhtml+xml' || (type === '' && text.trimStart().startsWith('<'));
}
