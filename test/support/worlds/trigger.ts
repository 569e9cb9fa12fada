import type { IDataObject, INode, INodeExecutionData, IRun, ITriggerFunctions, ITriggerResponse } from 'n8n-workflow';

import { UniversalAiAgentTrigger } from '../../../nodes/UniversalAiAgentTrigger/UniversalAiAgentTrigger.node';
import type { TestRedis } from '../servers/redis';
import { eventually } from '../values/agent-fixture';

/** One execution that the trigger has started. */
export interface Emitted {
  readonly json: IDataObject;
  /** False when the trigger does not wait for its end. */
  readonly isWaitedFor: boolean;
  readonly end: (status: IRun['status'], error?: { readonly message: string; readonly description?: string }) => void;
  /** As n8n does for executions that were cancelled or lost. */
  readonly lose: (reason: string) => void;
}

export interface TestTrigger extends ITriggerResponse {
  readonly emitted: readonly Emitted[];
  /** How often nothing was emitted, which ends a manual test without a task. */
  readonly nothings: () => number;
  readonly logged: readonly string[];
  /** The executions so far, once there are so many. */
  readonly started: (count: number) => Promise<readonly Emitted[]>;
  readonly close: () => Promise<void>;
}

export interface TriggerOptions {
  readonly redis: Pick<TestRedis, 'port' | 'password'>;
  readonly parameters?: IDataObject;
  readonly mode?: 'trigger' | 'manual';
}

const DEFAULTS: IDataObject = Object.fromEntries(
  new UniversalAiAgentTrigger().description.properties.map((property) => [property.name, property.default as never]),
);

const NODE: INode = {
  id: 'trigger',
  name: 'Tasks',
  type: 'n8n-nodes-universal-ai-agent.universalAiAgentTrigger',
  typeVersion: 1,
  position: [0, 0],
  parameters: {},
};

/** The trigger on a real Redis, in an n8n that only notes what is emitted. */
export async function startTrigger({ redis, parameters = {}, mode = 'trigger' }: TriggerOptions): Promise<TestTrigger> {
  const emitted: Emitted[] = [];
  const logged: string[] = [];
  let nothings = 0;
  const given: IDataObject = { ...DEFAULTS, ...parameters };
  const log = (message: string): number => logged.push(message);
  const functions = {
    getMode: () => mode,
    getNode: () => NODE,
    getNodeParameter: (name: string, fallback?: unknown) => given[name] ?? fallback,
    getCredentials: () =>
      Promise.resolve({ host: '127.0.0.1', port: redis.port, password: redis.password, user: '', database: 0 }),
    logger: { debug: log, info: log, warn: log, error: log },
    helpers: { createDeferredPromise: () => Promise.withResolvers() },
    emit: (data: INodeExecutionData[][], _response: unknown, done?: PromiseWithResolvers<IRun>) => {
      const item = data[0]?.[0];
      if (item === undefined) nothings++;
      else emitted.push(toEmitted(item.json, done));
    },
  } as unknown as ITriggerFunctions;
  const response = await new UniversalAiAgentTrigger().trigger.call(functions);
  return {
    ...response,
    emitted,
    nothings: () => nothings,
    logged,
    started: (count) => eventually(() => Promise.resolve(emitted.length >= count ? emitted : undefined)),
    close: async () => {
      await response.closeFunction?.();
    },
  };
}

function toEmitted(json: IDataObject, done?: PromiseWithResolvers<IRun>): Emitted {
  return {
    json,
    isWaitedFor: done !== undefined,
    end: (status, error) => done?.resolve({ status, data: { resultData: { runData: {}, error } } } as unknown as IRun),
    lose: (reason) => done?.reject(new Error(reason)),
  };
}
