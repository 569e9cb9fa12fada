import type { ToolSettings, TransportCall } from '../../contracts/tools/tool-transport';
import { RuntimeError } from '../../errors/runtime-error';
import { readAllowedHosts } from '../web/allowed-hosts';
import { RefusedUrl } from '../web/judge-url';
import { requestWeb, type WebReply, type WebRequest } from '../web/request-web';

type AskWeb = (
  call: TransportCall,
  request: Pick<WebRequest, 'url' | 'method' | 'body' | 'limitBytes'> & Partial<Pick<WebRequest, 'headers'>>,
) => Promise<WebReply>;

/**
 * What the tools that ask addresses of a model have in common. Reads allowed_hosts of the row, throws an Error for an
 * entry that is no host. A refusal becomes TOOL_PERMISSION_DENIED.
 */
export function askWebFor(settings: ToolSettings, { isRestricted = false } = {}): AskWeb {
  const { name: tool, authHeader, headers: own } = settings;
  const allowed = readAllowedHosts(settings.allowedHosts);
  const ownHeaders = { ...own, ...(authHeader === undefined ? {} : { authorization: authHeader }) };
  return async (call, request) => {
    const policy = { ...allowed, isRestricted, egress: call.egress };
    try {
      return await requestWeb({ headers: {}, ...request, ownHeaders, policy, signal: call.signal });
    } catch (error) {
      if (error instanceof RefusedUrl)
        throw new RuntimeError('TOOL_PERMISSION_DENIED', { tool, reason: error.message });
      throw error;
    }
  };
}
