import type { ConfiguredTransport, TransportReply } from '../../contracts/tools/tool-transport';
import { isJsonObject, tryParseJson } from '../../util/json';
import { createServerPools, postHook } from './hook-transport';
import { type ServerReply, toTransportReply } from './send-request';

const NOT_FOUND = 404;

/** A webhook of n8n: the documents' hook body is posted, and what n8n says of its own workflow is understood. */
export function createWorkflowTransport(): ConfiguredTransport {
  const dispatcher = createServerPools();
  return {
    prepare: (settings) => ({
      settings,
      call: async (call) => readReply(await postHook(dispatcher, settings, call)),
    }),
    close: () => dispatcher.destroy(),
  };
}

function readReply(reply: ServerReply): TransportReply {
  const message = messageOf(reply.text);
  const result = toTransportReply(reply);
  if (reply.status === NOT_FOUND && message?.includes('not registered') === true) {
    return { ...result, text: `${notRegistered(message)} n8n says: ${reply.text}` };
  }
  const isStarted = result.failure === undefined && message === 'Workflow was started';
  return isStarted ? { ...result, warning: 'WORKFLOW_ANSWERS_EARLY' } : result;
}

function notRegistered(message: string): string {
  return message.includes('Did you mean to make a')
    ? 'The Webhook node of the workflow takes no POST: set its HTTP Method to POST.'
    : 'The workflow is not active: activate (publish) it in n8n, and use the production URL of its Webhook node.';
}

function messageOf(text: string): string | undefined {
  const parsed = tryParseJson(text);
  const message = parsed.ok && isJsonObject(parsed.value) ? parsed.value.message : undefined;
  return typeof message === 'string' ? message : undefined;
}
