import {
  type INodeType,
  type INodeTypeDescription,
  type ITriggerFunctions,
  type ITriggerResponse,
  NodeConnectionTypes,
} from 'n8n-workflow';

import type * as WorkerLibrary from '../../runtime/worker';
import { DESCRIPTION } from '../shared/about';
import { toNodeError } from '../shared/errors';
import { consume } from './consume';
import { credentials, properties } from './description';
import { testOneTask } from './manual-test';
import { readSettings } from './settings';

export class UniversalAiAgentTrigger implements INodeType {
  description: INodeTypeDescription = {
    displayName: 'Universal AI Agent Trigger',
    name: 'universalAiAgentTrigger',
    icon: { light: 'file:universalAiAgentTrigger.svg', dark: 'file:universalAiAgentTrigger.dark.svg' },
    group: ['trigger'],
    version: 1,
    subtitle: '={{ $parameter["taskList"] }}',
    description: DESCRIPTION,
    eventTriggerDescription: 'Waiting for a task on the list',
    activationMessage: 'Your workflow now takes tasks off the list.',
    defaults: { name: 'Universal AI Agent Trigger' },
    inputs: [],
    outputs: [NodeConnectionTypes.Main],
    credentials,
    properties,
  };

  async trigger(this: ITriggerFunctions): Promise<ITriggerResponse> {
    // Loaded with the first trigger: n8n loads this file at every start, also where the node is never used.
    const library: typeof WorkerLibrary = await import('../../runtime/worker');
    try {
      const parts = { context: this, library, settings: await readSettings(this) };
      return this.getMode() === 'manual' ? testOneTask(parts) : await consume(parts);
    } catch (error) {
      throw toNodeError(this.getNode(), error);
    }
  }
}
