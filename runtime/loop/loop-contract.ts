import type { OutputFormat } from '../contracts/connected';
import type { OnEvent } from '../contracts/event';
import type { SettledModelCall } from '../contracts/ledger/account';
import type { ApprovalBelow, Step } from '../contracts/ledger/journal';
import type { LoopProgress } from '../contracts/ledger/progress';
import type { Usage } from '../contracts/ledger/usage';
import type { Message } from '../contracts/message';
import type { Model, ToolChoice } from '../contracts/model';
import type { AwaitedApproval, RunShare } from '../contracts/result';
import type { Tool, ToolContext, Toolset } from '../contracts/tools/tool';
import type { ToolCallRecord } from '../contracts/tools/tool-call';
import type { ErrorCode } from '../errors/codes';
import type { ErrorDetails, RuntimeError } from '../errors/runtime-error';
import type { RunnableCall } from './admit-tool-call';

/** How far a run may go. */
export interface LoopLimits {
  readonly maxIterations: number;
  readonly maxParallelToolCalls: number;
  readonly maxToolCallsPerStep: number;
  /** The run fails after this many consecutive steps in which every tool call failed. */
  readonly maxErrorSteps: number;
  /** A call made this many times with the same arguments and answer is refused. */
  readonly maxIdenticalCalls: number;
  /** Tool calls of the whole run. */
  readonly maxToolCalls?: number;
  readonly maxCallsPerTool?: number;
}

export interface LoopSettings {
  readonly modelId: string;
  readonly limits: LoopLimits;
  readonly onMaxIterations: 'error' | 'partial' | 'finalAnswer';
  readonly toolExecution: 'parallel' | 'sequential' | 'single';
  readonly toolChoice: ToolChoice;
  readonly temperature?: number;
  readonly maxTokens?: number;
  readonly modelSilenceMs: number;
  /** Asks for replies piece by piece, and tells of the pieces. */
  readonly streams?: boolean;
}

/** One model call that ended for the run, well or not. */
export interface EndedModelCall extends SettledModelCall {
  readonly durationMs: number;
}

/** What was decided on a call in the moment before it runs. A call without a ruling runs as it is. */
export type Ruling =
  | { readonly kind: 'deny'; readonly code: ErrorCode; readonly details: ErrorDetails }
  /** The rules have changed since the tools were chosen: this is the tool under the new ones. */
  | { readonly kind: 'changed'; readonly tool: Tool };

export type Rulings = ReadonlyMap<string, Ruling>;

/** What is about to be sent: the tool calls of a step, and the model call after them. */
export interface NextCalls {
  /** The number of that model call; undefined after the last one. */
  readonly next?: number;
  readonly calls: readonly RunnableCall[];
  /** Undefined where no step is open: a run goes on, or asks a silent model again. */
  readonly step?: Omit<Step, 'spent'>;
}

/** Is told what the loop does, in the order of time, and decides what it may do next. Must not throw. */
export interface LoopObserver {
  /** Awaited before each model call, and first of all in a run that goes on. A rejection ends the run; undefined overrides nothing. */
  readonly prepareStep?: (
    so: Pick<LoopProgress, 'iterations' | 'steps'>,
  ) => PreparedStep | undefined | Promise<PreparedStep | undefined>;
  /** Resolves with the usage of the reply, reported or estimated. */
  readonly modelCallEnded: (call: EndedModelCall) => Promise<Usage | undefined>;
  /** Receives what a model did that ignored the signal, after `modelCallEnded` and maybe after the run. */
  readonly modelSettledLate: (call: SettledModelCall) => Promise<void>;
  /** A model call has ended with anything but an answer. Nothing that it asked for has been decided on. */
  readonly stepOpened: (step: Omit<Step, 'spent'>) => void;
  /** Awaited before anything is sent, and has the last word on each tool call. A rejection ends the run; nothing is sent. */
  readonly beforeToolCalls: (next: NextCalls) => Promise<Rulings>;
  /** A tool call has ended, was refused, or waits for a person. */
  readonly toolCallEnded: (call: ToolCallRecord) => void;
  /** Asked when a tool call has ended. Default: no other run works for any. */
  readonly below?: (toolCallId: string, tool: Tool | undefined) => WorkBelow;
}

/** Overrides for the next model call. */
export interface PreparedStep {
  /** The model can call these and no others. */
  readonly toolset?: Toolset;
  /** Answers in place of the model of the run. */
  readonly model?: Model;
  readonly settings?: Partial<
    Pick<LoopSettings, 'modelId' | 'temperature' | 'maxTokens' | 'modelSilenceMs' | 'toolChoice' | 'toolExecution'>
  >;
  /** Limit of the model calls of the run. */
  readonly maxIterations?: number;
}

/** Where the loop begins. */
export interface LoopStart {
  /** Ends the run after one step, although another one follows. Default false. */
  readonly pauses?: boolean;
  readonly messages: readonly Message[];
  /** `messages` cannot be made again, since a memory had a part in them: they go into the journal. */
  readonly keepsOpening?: boolean;
  /** Goes on with what an earlier run of the task has done; `messages` is not read then. */
  readonly progress?: LoopProgress;
}

/** What every tool of the run is called with. */
export type ToolScope = Omit<ToolContext, 'toolCallId' | 'signal'>;

/** Work of other runs for a tool call. */
export interface WorkBelow {
  /** Set where the call has no outcome yet. */
  readonly open?: RunBelow;
  /** Runs that have ended. Default: none. */
  readonly runs?: readonly RunShare[];
}

/** Why a tool call has no outcome yet, whatever its tool has returned: another run works for it. */
export type RunBelow =
  /** That run waits for a person. */
  | (Pick<ApprovalBelow, 'taskId' | 'runId'> & { readonly kind: 'waits'; readonly awaiting: AwaitedApproval })
  /** It could not take up what a person has decided: the run fails, and may be tried again. */
  | { readonly kind: 'broken'; readonly error: RuntimeError };

/** What ends the loop from outside. */
export interface LoopStop {
  readonly signal: AbortSignal;
  /** Why the signal was aborted, as the error that ends the run. */
  readonly error: () => RuntimeError | undefined;
}

export interface LoopInput {
  readonly model: Model;
  readonly toolset: Toolset;
  readonly start: LoopStart;
  readonly settings: LoopSettings;
  /** The answer has to be of this form. */
  readonly format?: OutputFormat;
  readonly scope: ToolScope;
  readonly stop: LoopStop;
  readonly observer: LoopObserver;
  readonly emit: OnEvent;
}
