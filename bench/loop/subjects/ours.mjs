// Our whole run: validation, policy, usage, cost and events. The database is faked in memory.
import { createOurSubject, requireRuntime } from '../our-runtime.mjs';

export const create = (options) => createOurSubject(requireRuntime(), options);
