// Our whole run: validation, policy, usage, cost and events. The database is faked in memory.
import { createOurSubject, requireRuntime, toRuntimeTools } from '../our-runtime.mjs';

export const create = ({ tools, ...endpoint }) =>
  createOurSubject(requireRuntime(), { ...endpoint, runtimeTools: toRuntimeTools(tools) });
