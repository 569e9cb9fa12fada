import { isIP } from 'node:net';

import type { Outgoing, OutgoingReply, OutgoingRequest, OutgoingRules } from '../../contracts/tools/outgoing';
import { errorText } from '../../errors/to-runtime-error';
import { startDeadline } from '../../util/abort';
import { wasNeverConnected } from '../../util/connection-errors';
import { foreignHeaderIssue } from '../transports/header-fields';
import { readRetryAfter } from '../transports/send-request';
import { plainHost, readAllowedHosts } from './allowed-hosts';
import { contentType, decodeBody, isCompressed, isText } from './decode-body';
import { guardedLookup } from './guarded-lookup';
import { judgeUrl, RefusedUrl } from './judge-url';
import { requestWeb, type WebReply } from './request-web';

/** Requests to addresses that stand in tasks, under the rules for those that a model writes. */
export function createOutgoing(): Outgoing {
  return {
    readHosts: (entries) => readAllowedHosts(entries, 'the list of hosts').allowsHost,
    judge: async (url, rules) => {
      try {
        const host = plainHost(await judgeUrl(url, rules));
        if (isIP(host) === 0) await lookUp(host, rules);
        return undefined;
      } catch (error) {
        if (error instanceof RefusedUrl) return error.message;
        throw error;
      }
    },
    headerIssue: foreignHeaderIssue,
    send,
  };
}

/** Rejects with RefusedUrl when the name leads nowhere but inside. */
function lookUp(host: string, rules: OutgoingRules): Promise<void> {
  return new Promise((resolve, reject) => {
    guardedLookup(rules)(host, {}, (error) => {
      // A name that does not resolve now may do so when the time has come.
      if (error instanceof RefusedUrl) reject(error);
      else resolve();
    });
  });
}

async function send(request: OutgoingRequest, rules: OutgoingRules): Promise<OutgoingReply> {
  const { timeoutMs, signal: parent, ...rest } = request;
  const deadline = startDeadline(timeoutMs, parent);
  try {
    const { signal } = deadline;
    const reply = await requestWeb({ ...rest, ownHeaders: {}, policy: rules, signal, maxRedirects: 0 });
    const retryAfter = readRetryAfter(reply.headers['retry-after']);
    return { kind: 'answered', status: reply.status, text: textOf(reply), isCut: reply.isCut, retryAfter };
  } catch (error) {
    if (error instanceof RefusedUrl) return { kind: 'refused', reason: error.message };
    if (wasNeverConnected(error)) return { kind: 'unreached', reason: errorText(error) };
    const isLate = deadline.cause() === 'timeout';
    return {
      kind: 'broken',
      reason: isLate ? `it did not answer within ${timeoutMs / 1000} seconds` : errorText(error),
    };
  } finally {
    deadline.dispose();
  }
}

/** What is no text cannot be shown. */
function textOf(reply: WebReply): string {
  const type = contentType(reply);
  return isText(type) && !isCompressed(reply) ? decodeBody(reply, type) : '';
}
