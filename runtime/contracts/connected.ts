import type { JsonObject, JsonValue } from '../util/json';
import type { Message } from './message';
import type { NamedModel } from './model';
import type { CheckedFor } from './tools/tool';
import type { ToolDefinition } from './tools/tool-shapes';

/** What a host has wired to one run, beside what the tenant's rows give it. Trusted like the host's own configuration. */
export interface Connected {
  /** Answers in place of the tier's model, and decides on temperature and length; the tier still decides the limits. */
  readonly model?: NamedModel;
  /** Asked when the model fails, for that call: the connected one, or the tier's where none is connected. */
  readonly fallback?: NamedModel;
  /** Offered beside the tenant's tools, under the same rules. */
  readonly tools?: readonly ConnectedTool[];
  readonly memory?: Memory;
  /** The answer has to be of this form. */
  readonly format?: OutputFormat;
}

/** A tool of the host. The runtime checks the arguments, bounds the answer, and blanks secrets in it. */
export interface ConnectedTool {
  /** Its name may be any text: it is made one that providers accept, and that no other tool of the run has. */
  readonly definition: ToolDefinition;
  /** Where it comes from, such as the name of a node: keeps two tools of one name apart. */
  readonly source?: string;
  /** Whether a call may be made again whose outcome is unknown. Undefined: it may not. */
  readonly isRepeatable?: boolean;
  /** It changes nothing. Undefined: it may. */
  readonly isReadOnly?: boolean;
  /** Its answer: text, or what can be written as JSON. A rejection is told to the model. */
  readonly call: (input: JsonObject, signal: AbortSignal) => Promise<unknown>;
}

/** What was said before in the same conversation. */
export interface Memory {
  /** Oldest first, without the system prompt. */
  readonly load: () => Promise<readonly Message[]>;
  /** The user's message, then the messages of the run with its answer last. */
  readonly save: (turn: readonly Message[]) => Promise<void>;
}

/** The form that an answer must have. The model is asked to give it as the arguments of a tool; as text it is read as well. */
export interface OutputFormat {
  /** Offered beside the tools of the run. A call of it is the answer, and nothing is executed. */
  readonly tool: ToolDefinition;
  /** Stands at the end of the system prompt. */
  readonly instructions: string;
  /** The value of an answer, or what is wrong with it, for the model. A rejection counts as the latter. */
  readonly parse: (answer: GivenAnswer, checkedFor?: CheckedFor) => Promise<ParsedOutput>;
}

export interface GivenAnswer {
  /** The arguments of the call, unparsed, or the text of the reply. */
  readonly text: string;
  readonly isCall: boolean;
}

export type ParsedOutput =
  { readonly ok: true; readonly value: JsonValue } | { readonly ok: false; readonly issues: string };
