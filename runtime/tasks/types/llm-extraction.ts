import { type LlmType, readLlmTask } from './llm-task';
import type { TaskHandler, TaskPorts } from './task-handler';

const TYPE: LlmType = {
  temperature: 0.1,
  role: 'You extract data from a message. Use only what the message says.',
  isAlwaysJson: true,
};

/** `llm_extraction`: the result is the JSON that the model found in the message. */
export function llmExtraction(ports: TaskPorts): TaskHandler {
  return (task) => readLlmTask(task, TYPE, ports);
}
