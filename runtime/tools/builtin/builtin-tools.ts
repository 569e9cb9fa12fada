import type { BuiltinTool } from './builtin-tool';
import { extract } from './extract';
import { getVariable } from './get-variable';
import { httpRequest } from './http-request';
import { neo4jQuery } from './neo4j-query';
import { redisGet } from './redis-get';
import { setVariable } from './set-variable';
import { sqlQuery } from './sql-query/sql-query';
import { timeNow } from './time-now';
import { webFetch } from './web-fetch';

/** Every built-in tool by the name that rows give it. */
export const BUILTIN_TOOLS: Readonly<Record<string, BuiltinTool>> = {
  extract,
  get_variable: getVariable,
  http_request: httpRequest,
  neo4j_query: neo4jQuery,
  redis_get: redisGet,
  set_variable: setVariable,
  sql_query: sqlQuery,
  time_now: timeNow,
  web_fetch: webFetch,
};
