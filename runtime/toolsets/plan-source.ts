import * as z from 'zod/v4';

import type { RunMode } from '../contracts/task';
import type { PlannedStep, Review, Verdict } from '../contracts/tools/plan';
import type { Tool } from '../contracts/tools/tool';
import { describeError } from '../errors/runtime-error';
import { toolFailure } from '../errors/tool-failure';
import { isJsonObject, type JsonObject } from '../util/json';
import { clipText } from '../util/text/clip-text';
import { parseWith } from './parse-with';
import { NO_TOOLS, type OfferedTool, type ToolSource } from './tool-source';

/** The name of the tool with which a model makes a plan. */
export const MAKE_PLAN = 'make_plan';
/** The name of the tool with which a model judges a step. */
export const REVIEW_STEP = 'review_step';
export const PLAN_TOOLS: readonly string[] = [MAKE_PLAN, REVIEW_STEP];
const MAX_STEPS = 20;
const MAX_TASK_LENGTH = 10_000;
const MAX_FEEDBACK_BYTES = 4000;
const VERDICTS: readonly Verdict[] = ['SUCCESS', 'RETRY', 'REPLAN', 'ABORT'];
const EXECUTORS = ['loop', 'skill', 'agent', 'tool'] as const;

/** The tools with which a run makes a plan and follows it, where its mode is another than `direct`. */
export function createPlanSource(codeTools: readonly string[]): ToolSource {
  return {
    offer: ({ mode, snapshot }, before) => {
      if (before !== undefined) return before;
      if (mode === 'direct') return NO_TOOLS;
      const taken = [...snapshot.tools.map(({ code }) => code), ...codeTools];
      const names = PLAN_TOOLS.filter((name) => taken.includes(name));
      return {
        tools: [offered(MAKE_PLAN, makePlan), offered(REVIEW_STEP, reviewStep)],
        instructions: INSTRUCTIONS[mode],
        warnings: names.map((tool) =>
          describeError('TOOL_SKIPPED', { tool, reason: 'plans are made with a tool of this name' }),
        ),
      };
    },
  };
}

const INSTRUCTIONS: Readonly<Record<Exclude<RunMode, 'direct'>, string>> = {
  plan: `You work by plan. If you can answer without any tool, answer at once. Else call ${MAKE_PLAN} before anything else; its steps are done for you, and you review each result.`,
  auto: `If a request takes three or more steps that build on one another, call ${MAKE_PLAN} before anything else; its steps are done for you, and you review each result. Do whatever is simpler yourself, without a plan.`,
};

/** Reports whether these are the words of the source to the model. */
export function isOfPlans(instructions: string): boolean {
  return Object.values(INSTRUCTIONS).includes(instructions);
}

function offered(name: string, build: (name: string) => Tool): OfferedTool {
  return { name, type: 'builtin', comesWith: 'mode', build };
}

const step = z
  .object({
    task: z.string().trim().min(1).max(MAX_TASK_LENGTH),
    executor: z.preprocess(
      (word) => (typeof word === 'string' ? word.toLowerCase() : (word ?? 'loop')),
      z.enum(EXECUTORS),
    ),
    name: z.string().trim().nullish(),
    arguments: z.custom<JsonObject>(isJsonObject, 'must be an object').nullish(),
  })
  .refine(({ executor, name }) => executor === 'loop' || (name ?? '') !== '', 'needs the name of its executor');
const fromText = (given: unknown): unknown => (typeof given === 'string' ? { task: given } : given);
const plan = z.object({ steps: z.array(z.preprocess(fromText, step)).max(MAX_STEPS) });

/** The steps that a call of `make_plan` has asked for. Throws a ZodError for arguments that the tool does not take. */
export function readPlan(input: unknown): readonly PlannedStep[] {
  return plan.parse(input).steps.map(({ task, executor, name, arguments: given }) => ({
    ...{ task, executor },
    ...(executor === 'loop' ? {} : { name: name ?? undefined }),
    ...(executor === 'tool' ? { arguments: given ?? {} } : {}),
  }));
}

/** The verdict in the arguments of `review_step`. Models write it in small letters too. */
export function readReview(input: unknown): Review {
  if (!isJsonObject(input)) return {};
  const word = typeof input.verdict === 'string' ? input.verdict.trim().toUpperCase() : '';
  const verdict = VERDICTS.find((one) => one === word);
  const { text } = clipText(typeof input.feedback === 'string' ? input.feedback.trim() : '', MAX_FEEDBACK_BYTES);
  return { ...(verdict && { verdict }), ...(text === '' ? {} : { feedback: text }) };
}

function makePlan(name: string): Tool {
  return {
    definition: {
      name,
      description: `Makes a plan. Its steps are done one after the other, and you are shown each result to review it. A step sees the request and the results of the steps before it, and nothing else. At most ${MAX_STEPS} steps; prefer few.`,
      inputSchema: {
        type: 'object',
        properties: {
          steps: {
            type: 'array',
            maxItems: MAX_STEPS,
            items: {
              type: 'object',
              properties: {
                task: { type: 'string', description: 'What to do, and what result is wanted' },
                executor: {
                  type: 'string',
                  enum: [...EXECUTORS],
                  description:
                    'Who does it. loop: yourself, with all tools, which is right for most steps. skill: yourself, by the instructions of a skill. agent: one of the agents that you can ask. tool: one call of a tool whose arguments are known already, without a model.',
                },
                name: { type: 'string', description: 'The name of the skill, the agent or the tool' },
                arguments: { type: 'object', description: 'Of a tool: its arguments' },
              },
              required: ['task', 'executor'],
            },
          },
        },
        required: ['steps'],
      },
    },
    parseInput: parseWith(plan),
    ...CONTROL,
    execute: (given, context) => {
      const { run } = context;
      return run.plan?.begin(readPlan(given), context) ?? Promise.resolve(outOfPlace(name));
    },
  };
}

function reviewStep(name: string): Tool {
  return {
    definition: {
      name,
      description:
        'Judges the result of the step that was done last. SUCCESS: it is what the step asked for; the next step follows. RETRY: another try of the same step, with your feedback, is likely to do better; possible once a step. REPLAN: the rest of the plan does not fit any more; you make another one. ABORT: the request cannot or must not be fulfilled; everything stops.',
      inputSchema: {
        type: 'object',
        properties: {
          verdict: { type: 'string', enum: [...VERDICTS] },
          feedback: { type: 'string', description: 'Why, and for RETRY and REPLAN what to do otherwise' },
        },
        required: ['verdict'],
      },
    },
    parseInput: (input) => ({ ok: true, value: input }),
    ...CONTROL,
    execute: (given, context) => {
      const { run } = context;
      return run.plan?.review(readReview(given), context) ?? Promise.resolve(outOfPlace(name));
    },
  };
}

/** A call that is made again finds the task that it has started. */
const CONTROL = { isRepeatable: true, isUncounted: true } as const;

const outOfPlace = (tool: string): ReturnType<typeof toolFailure> =>
  toolFailure('TOOL_PLAN_INVALID', { tool, issues: 'nothing is planned or reviewed here' });
