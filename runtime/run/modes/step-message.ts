import { textOf } from '../../contracts/message';
import type { TaskConfig } from '../../contracts/task';
import { openTranscript } from '../../loop/transcript';
import type { JsonValue } from '../../util/json';
import { clipText } from '../../util/text/clip-text';
import { type PlanState, presentPlan, triesOf } from './plan-state';

const MAX_RESULT_BYTES = 16_000;

/**
 * The message for the run's own agent at work on the present step: the request with its facts, the results of the steps before, the
 * step, and what was wrong with the first try.
 */
export function stepMessage(state: PlanState, { message, context }: Pick<TaskConfig, 'message' | 'context'>): string {
  const request = `You do one step of a plan. The request that the plan is for:\n${block('request', message)}`;
  const text = [request, ...resultsBefore(state), `Your step:\n${taskOf(state)}`, ...tried(state)].join('\n\n');
  return openTranscript({ message: text, context, singleTool: false })
    .map(({ content }) => textOf(content))
    .join();
}

/** The message for another agent: without the request, of which only the planner has to know. */
export function messageToAgent(state: PlanState): string {
  return [...resultsBefore(state), taskOf(state), ...tried(state)].join('\n\n');
}

function taskOf(state: PlanState): string {
  return presentPlan(state).steps[state.at]?.task ?? '';
}

function resultsBefore(state: PlanState): readonly string[] {
  const { steps, tries } = presentPlan(state);
  const results = steps
    .slice(0, state.at)
    .map(({ task }, index) => ({ step: index + 1, task, result: clipped(tries[index]?.at(-1)?.result ?? null) }));
  return results.length === 0 ? [] : [`Results of the steps before:\n${block('results', JSON.stringify(results))}`];
}

function tried(state: PlanState): readonly string[] {
  const { feedback = 'no reason was given' } = state;
  return triesOf(state).length === 0 ? [] : [`This step was done once, and its result was not accepted: ${feedback}`];
}

function clipped(result: JsonValue): JsonValue {
  const { text, isCut } = clipText(JSON.stringify(result), MAX_RESULT_BYTES);
  return isCut ? `${text}…` : result;
}

/** Data between marks, of which nothing in it can be one. */
function block(name: string, data: string): string {
  return `<${name}>\n${data.replaceAll('<', '\\u003c')}\n</${name}>`;
}
