// Our runtime with its database faked in memory: everything a run does, except for the sockets to Postgres and MCP.
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

import { Ajv2020 } from 'ajv/dist/2020.js';

import { MODEL_ID, SYSTEM_PROMPT, USER_MESSAGE } from './scenario.mjs';

const TENANT_ID = '0b1e7a52-4d3c-4f6a-9b8e-2c5d7f901234';

export const runtimePath = fileURLToPath(new URL('../../dist/runtime/index.js', import.meta.url));

/** Required, not imported: the bundle is CommonJS, and its names may be lost on an import once it is minified. */
export const requireRuntime = () => createRequire(import.meta.url)(runtimePath);

export function createOurSubject({ createRuntime }, { baseUrl, apiKey, runtimeTools, catalogue = [] }) {
  const runtime = createRuntime({
    model: { apiKey, baseUrl },
    plugins: { tools: runtimeTools, tenants: fakeTenants(catalogue), ledger: fakeLedger() },
  });

  async function run() {
    const result = await runtime.run({
      task_type: 'ai_agent',
      config: { agent_tier: 'small', system_prompt: SYSTEM_PROMPT, message: USER_MESSAGE },
      meta: { tenant_id: TENANT_ID },
    });
    return result.result.text;
  }

  return { run, close: async () => runtime.close() };
}

/** Arguments are validated as those of a tool from the database are: a run without that would be half a run. */
export function toRuntimeTools(tools) {
  const ajv = new Ajv2020({ strict: false });
  return tools.map(({ name, description, parameters, execute }) => {
    const validate = ajv.compile(parameters);
    return {
      definition: { name, description, inputSchema: parameters },
      parseInput: (input) =>
        validate(input) ? { ok: true, value: input } : { ok: false, issues: ajv.errorsText(validate.errors) },
      execute: async (input) => ({ isError: false, value: await execute(input) }),
    };
  });
}

/** A money limit and a price, so that the exact cost is worked out; and not nano, so that there is a line to bill. */
function fakeTenants(tools) {
  const snapshot = {
    tenant: { id: TENANT_ID, isActive: true, settings: { defaultTier: 'small', monthlyCostLimitUsd: '1000' } },
    tiers: [{ code: 'small', name: 'Small', modelId: MODEL_ID, maxTokens: 1000, rank: 2 }],
    prices: [{ modelId: MODEL_ID, inputPer1M: '0.15', outputPer1M: '0.60' }],
    tools,
  };
  return { load: async () => snapshot };
}

function fakeLedger() {
  return {
    claim: async () => ({ kind: 'claimed', attempt: 1 }),
    record: async () => ({ isOurs: true }),
  };
}
