import { sendJson } from '../servers/http-server';
import { type ScriptedReply, textReply } from '../servers/model-server';
import { gate } from './agent-fixture';

/** A reply of the model server that waits until the test opens it. */
interface HeldReply {
  readonly reply: ScriptedReply;
  /** Resolves when the request has come. */
  readonly asked: Promise<void>;
  readonly open: () => void;
}

export function heldReply(given: { readonly body: unknown } = textReply('Late')): HeldReply {
  const [asked, held] = [gate(), gate()];
  const reply: ScriptedReply = async (_request, response) => {
    asked.open();
    await held.opened;
    sendJson(response, given.body);
  };
  return { reply, asked: asked.opened, open: held.open };
}
