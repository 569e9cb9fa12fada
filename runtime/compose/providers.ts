import type { ParsedConfig } from '../config/runtime-config';
import type { Model, Models } from '../contracts/model';
import { createOpenAiModel } from '../models/openai/openai-model';

interface Providers {
  readonly models: Models;
  readonly close: () => Promise<void>;
}

/** Creates the models: the plug-in's for every id, else the configured provider's. */
export function createProviders({ model: config, plugins }: ParsedConfig): Providers {
  if (plugins.model !== undefined) return { models: onlyModel(plugins.model), close: () => Promise.resolve() };
  if (config === undefined) return { models: () => [], close: () => Promise.resolve() };
  const model = createOpenAiModel(config);
  return { models: onlyModel(model), close: model.close };
}

function onlyModel(model: Model): Models {
  return (name) => [{ name, model }];
}
