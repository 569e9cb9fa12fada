import type { TaskType } from '../../contracts/queue';
import { RuntimeError } from '../../errors/runtime-error';
import { aiAgent } from './ai-agent';
import { httpRequest } from './http-request';
import { LLM_EXTRACTION, LLM_GENERATION, readLlmTask } from './llm-task';
import type { TaskHandler, TaskPorts } from './task-handler';
import { webhookCall } from './webhook-call';

/** Finds the handler of a type. Throws TASK_TYPE_UNKNOWN. */
export type FindHandler = (taskType: string) => TaskHandler;

export function createTaskTypes(ports: TaskPorts): FindHandler {
  const handlers: Readonly<Record<TaskType, TaskHandler>> = {
    ai_agent: aiAgent,
    llm_extraction: (task) => readLlmTask(task, LLM_EXTRACTION, ports),
    llm_generation: (task) => readLlmTask(task, LLM_GENERATION, ports),
    http_request: httpRequest(ports),
    webhook_call: webhookCall(ports),
  };
  return (taskType) => {
    if (Object.hasOwn(handlers, taskType)) return handlers[taskType as TaskType];
    throw new RuntimeError('TASK_TYPE_UNKNOWN', { taskType });
  };
}
