import { type LlmType, readLlmTask } from './llm-task';
import type { TaskHandler, TaskPorts } from './task-handler';

const TYPE: LlmType = { temperature: 0.7, role: '', isAlwaysJson: false };

/** `llm_generation`: the result is the model's text, or with an `output_schema` its JSON. */
export function llmGeneration(ports: TaskPorts): TaskHandler {
  return (task) => readLlmTask(task, TYPE, ports);
}
