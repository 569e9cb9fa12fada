import type { INodeProperties } from 'n8n-workflow';

/** Option for where models are. What is added is to change something: without it the provider is OpenRouter. */
export const providerOption = (description: string): INodeProperties => ({
  displayName: 'Provider',
  name: 'modelProvider',
  type: 'options',
  noDataExpression: true,
  options: [
    {
      name: 'OpenAI-Compatible',
      value: 'openAiCompatible',
      description: 'Any server that speaks the OpenAI chat API',
    },
    { name: 'OpenRouter', value: 'openRouter' },
  ],
  default: 'openAiCompatible',
  description,
});

/** Credentials of the providers, which cannot be chosen by an expression. */
export const PROVIDERS: ReadonlyMap<unknown, string> = new Map([
  ['openRouter', 'openRouterApi'],
  ['openAiCompatible', 'openAiApi'],
]);
