import { type ScriptedReply, toolReply } from '../servers/model-server';

/** Reply of a planner. */
export const plan = (...steps: readonly (object | string)[]): ScriptedReply =>
  toolReply([{ name: 'make_plan', arguments: { steps } }]);

/** Reply of a supervisor. */
export const review = (verdict: string, feedback?: string): ScriptedReply =>
  toolReply([{ name: 'review_step', arguments: { verdict, feedback } }]);
