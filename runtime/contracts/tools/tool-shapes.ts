import type { ErrorCode } from '../../errors/codes';
import type { ErrorSummary } from '../../errors/runtime-error';
import type { JsonObject, JsonValue } from '../../util/json';

/** Definition of a tool, as the model is shown it: nothing else leaves for the provider. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** JSON Schema (2020-12) of the arguments, passed on as it is. */
  readonly inputSchema: JsonObject;
}

/** Output of a tool. With `isError` the model is told of a failure it can act on. */
export interface ToolOutput {
  readonly isError: boolean;
  /** JSON for the model and for `tool_calls`; already bounded and redacted. */
  readonly value: JsonValue;
  readonly code?: ErrorCode;
  /**
   * Names of the tools that the model can call from the next step on, or `all` of the run. Undefined: those that it could call so
   * far. This and `warnings` are set by tools of the runtime alone.
   */
  readonly nextTools?: readonly string[] | 'all';
  /** Warnings for the result of the run. */
  readonly warnings?: readonly ErrorSummary[];
}
