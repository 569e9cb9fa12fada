/** Who has to act: the caller, the tenant's operator, a service upstream, or us. */
export type ErrorCategory = 'caller' | 'tenant' | 'upstream' | 'internal';

/**
 * What fails. `task`: this one. `tenant`: every task of the tenant alike, for a while. `attempt`: this attempt only, since another one does the task, and answers it.
 * `installation`: every task alike, until somebody mends a service that all of them need.
 */
export type ErrorScope = 'task' | 'tenant' | 'attempt' | 'installation';

interface CodeRow {
  readonly category: ErrorCategory;
  /** True when the same request may succeed later without a change by anybody. */
  readonly retryable: boolean;
  /** What happened; `{name}` is filled from the error's details. */
  readonly message: string;
  /** What to do about it. */
  readonly hint: string;
  /** Default `task`. */
  readonly scope?: ErrorScope;
}

const row =
  (category: ErrorCategory, retryable: boolean) =>
  (message: string, hint: string): CodeRow => ({ category, retryable, message, hint });

const caller = row('caller', false);
const callerLater = row('caller', true);
const tenant = row('tenant', false);
const upstream = row('upstream', false);
const upstreamLater = row('upstream', true);
const internal = row('internal', false);

const ofAttempt = (given: CodeRow): CodeRow => ({ ...given, scope: 'attempt' });
const ofTenant = (given: CodeRow): CodeRow => ({ ...given, scope: 'tenant' });
const ofInstallation = (given: CodeRow): CodeRow => ({ ...given, scope: 'installation' });

/**
 * The one error table: it drives retries, n8n error texts, tool messages, CLI output and docs/errors.md.
 * A code, once published, keeps its meaning.
 */
export const ERROR_CODES = {
  // What the caller sent
  INPUT_INVALID: caller('The task is not valid: {issues}.', 'Correct the fields that the message names.'),
  WORKFLOW_INVALID: caller(
    'This is not a workflow that can be read: {problem}.',
    'Export the workflow from n8n again, with Download in its menu, and give that file.',
  ),
  WORKFLOW_UNREADABLE: caller(
    'The workflow "{file}" cannot be read: {reason}.',
    'Give a workflow that was exported from n8n as JSON, or a folder that holds some.',
  ),
  OUTPUT_EXISTS: caller(
    'File "{file}" is there already, with other contents.',
    'Choose another place, or add --overwrite.',
  ),
  OUTPUT_FAILED: caller(
    'File "{file}" cannot be written: {reason}.',
    'Correct what the message names, then run it again.',
  ),
  REPORT_INVALID: caller(
    'File "{file}" is no report of migrate-workflow: {reason}.',
    'Give the JSON file that --report wrote.',
  ),
  UNDO_REFUSED: caller(
    'File "{file}" was changed after it was migrated.',
    'Keep the changes elsewhere, then add --overwrite to have the original back.',
  ),
  MIGRATION_ROWS_CLASH: caller(
    'The workflows "{one}" and "{other}" both need the row {row}, with different values.',
    'Rename the agent or the tool in one of them, since rows are named after nodes.',
  ),
  MIGRATION_STOPPED: callerLater(
    'Stopped by a signal: {done} of {total} files are written.',
    'Run the same command again: what is written stays as it is.',
  ),
  N8N_UNAUTHORIZED: caller(
    'The n8n at {url} refuses the API key (HTTP {status}).',
    'Make a key in its Settings, n8n API, with the scopes workflow:list, workflow:read and workflow:create.',
  ),
  N8N_WORKFLOW_NOT_FOUND: caller(
    'The n8n at {url} has no workflow "{id}" that the API key may read.',
    'Take the id from the address of the workflow in the editor.',
  ),
  N8N_UNAVAILABLE: upstreamLater(
    'The n8n at {url} cannot be reached or failed: {reason}.',
    'Check the address and that n8n runs, then run it again: no copy is made twice.',
  ),
  N8N_REFUSED: upstream(
    'The n8n at {url} refused the request: {reason}.',
    'Check that the address is that of n8n 2.41 or later, with its public API switched on.',
  ),
  TENANT_ID_INVALID: caller(
    'Tenant ID "{tenantId}" is not a UUID.',
    'Give the id of the tenant row, such as 3f2b8c1e-5d4a-4c6b-9e7f-0a1b2c3d4e5f.',
  ),
  CONTEXT_INVALID: caller('Context is not valid JSON: {reason}.', 'Give a JSON object, or leave Context empty.'),
  TENANT_UNTRUSTED: caller(
    'As a tool of another agent, this node must not take its tenant from an expression in which a model could have a say, such as $json or $fromAI.',
    "Choose the tenant from the list, or name the node it comes from, such as {{ $('Webhook').item.json.body.tenant }}.",
  ),
  IDENTITY_UNTRUSTED: caller(
    'As a tool of another agent, this node must not take its Identity from an expression in which a model could have a say, such as $json or $fromAI.',
    "Leave it empty, or name the node it comes from, such as {{ $('Webhook').item.json.body.user_id }}.",
  ),
  CONFIG_INVALID: caller('The configuration is not valid: {issues}.', 'Correct the setting that the message names.'),
  SSH_TUNNEL_UNSUPPORTED: caller(
    'The Postgres credential uses an SSH tunnel, which this node does not open.',
    'Use a Postgres credential that reaches the database directly.',
  ),
  TIER_UNKNOWN: caller(
    'Tier "{tier}" is not configured. Known tiers: {knownTiers}.',
    'Use a known tier, or add a row to elo_agent_tiers.',
  ),
  TIER_NOT_ALLOWED: tenant(
    'Tier "{tier}" is above the tenant\'s highest tier "{maxTier}".',
    'Ask for a lower tier, or raise settings.max_tier of the tenant.',
  ),
  MODEL_NOT_ALLOWED: tenant(
    'Model "{model}" belongs to no tier up to the tenant\'s highest tier "{maxTier}".',
    'Use a model of an allowed tier, or raise settings.max_tier of the tenant.',
  ),
  MODEL_UNPRICED: tenant(
    'Model "{model}" has no price, and money is limited.',
    'Give it one with `universal-ai-agent price sync` or `price set`. A variant such as :free, or a dated id, needs its own.',
  ),
  MODEL_NOT_LISTED: caller(
    'The provider\'s list has no model "{model}" with a price. Most like it: {nearest}.',
    'Name a model of the list. Nothing was changed.',
  ),
  PRICE_INVALID: caller(
    'The price of model "{model}" cannot be kept exactly: {reason}.',
    'Give a price that fits, or have the owner of the table make the column NUMERIC. Nothing was changed.',
  ),
  PRICE_LIST_INVALID: upstream(
    'This is not a list of models with prices: {reason}.',
    'Name a file or an address that answers as the `GET /models` of OpenRouter does, with --from.',
  ),
  PRICE_LIST_UNREACHABLE: upstreamLater(
    'The list of models at {source} cannot be read: {reason}.',
    'Check the address or the file, or save the list to a file and name that with --from.',
  ),
  MODEL_MISSING: caller(
    'There is no model to ask: neither a credential of a model provider nor a connected chat model.',
    'Choose a credential for the model provider, or connect a chat model.',
  ),
  MODEL_UNUSABLE: caller(
    'What is connected as {input} cannot be used: {reason}.',
    'Connect a chat model that can call tools.',
  ),
  OUTPUT_FORMAT_INVALID: caller(
    'The output format cannot be used: {reason}.',
    'Give a JSON Schema in Output Schema, or connect an output parser.',
  ),
  TENANT_NOT_FOUND: tenant(
    'Tenant "{tenantId}" does not exist.',
    'Check the tenant id, and that the credential points at the right database.',
  ),
  TENANT_INACTIVE: tenant('Tenant "{tenantId}" is not active.', 'Set is_active of the tenant row to true.'),

  // One task, several callers
  TASK_CONFLICT: caller(
    'Task "{taskId}" was already used for another request.',
    'Give each request its own task_id; repeat an id only with the same request.',
  ),
  TASK_RUNNING: ofAttempt(
    callerLater('Task "{taskId}" is still running elsewhere.', 'Wait and ask again; the stored result will come back.'),
  ),
  RUN_TAKEN_OVER: ofAttempt(
    internal('Another attempt took over task "{taskId}".', 'Nothing to do: the other attempt answers.'),
  ),
  RUN_UNKNOWN: internal(
    'The ledger does not know run "{runId}".',
    'It was forgotten after 30 days, or the database was restored from a time before it: book its usage by hand.',
  ),

  // How a run ends early
  MAX_ITERATIONS_REACHED: tenant(
    'The agent used all {maxIterations} iterations without a final answer.',
    'Raise Max Iterations, or set On Max Iterations to return a partial or a final answer.',
  ),
  TOOL_ERRORS_REPEATED: tenant(
    'Every tool call failed in {count} steps in a row; the last error was {lastCode}.',
    "Look at the tool errors in tool_calls, and at the tools' servers.",
  ),
  LOOP_DETECTED: tenant(
    'The agent asked for "{tool}" with the same arguments again and again, and got the same answer.',
    'Make the prompt say what to do with that answer, or raise max_identical_calls.',
  ),
  OUTPUT_INVALID: tenant(
    'The answer does not have the required format, also after it was asked for again: {issues}.',
    'Look at result.text; make the prompt or the schema easier to follow, or use a better model.',
  ),
  BUDGET_EXCEEDED: tenant(
    'The {limit} of {amount} is used up.',
    'Raise the limit, or wait until the next month where it is a monthly one.',
  ),
  TENANT_RATE_LIMITED: ofTenant(
    callerLater(
      'The tenant may begin {runs} runs a minute, and they are used up; there is room again in {seconds} seconds.',
      'Try again then. Tasks of a queue wait by themselves. settings.runs_per_minute of the tenant is the limit.',
    ),
  ),
  SETTING_INVALID: tenant(
    'The setting {setting} of the tenant cannot be read: {reason}.',
    'Correct it in the settings of the tenant row; until then nothing is run for this tenant.',
  ),
  POLICY_INVALID: tenant(
    'The rules in {where} cannot be read: {reason}.',
    'Correct them; until then no tool is offered on their strength.',
  ),
  APPROVAL_UNKNOWN: caller(
    'No run "{runId}" of this tenant waits for an approval.',
    'Give the run_id of the result whose status was awaiting_input; each can be decided on once.',
  ),
  RUN_TIMEOUT: callerLater(
    'The run took longer than {timeoutSeconds} seconds.',
    'Raise Timeout Seconds, or give the agent less to do.',
  ),
  RUN_CANCELLED: caller('The run was cancelled.', 'Nothing to do: it was stopped on request.'),

  // The model provider
  LLM_AUTH_FAILED: caller(
    'The model provider refused the API key (HTTP {status}).',
    'Check the model provider credential.',
  ),
  LLM_INSUFFICIENT_CREDITS: caller(
    'The model provider account has no credit left (HTTP 402).',
    'Add credit to the account, or use a free tier.',
  ),
  LLM_MODEL_NOT_FOUND: tenant(
    'The model provider does not know model "{model}": {reason}',
    "Correct the tier's model_id in elo_agent_tiers, or the Model Override.",
  ),
  LLM_NO_TOOL_SUPPORT: tenant(
    'No provider offers model "{model}" with tools: {reason}',
    'Use another model for this tier, or give this tier no tools.',
  ),
  LLM_RATE_LIMITED: upstreamLater(
    'The model provider limited the rate of requests: {reason}',
    'Try again later, or use another tier.',
  ),
  LLM_TIMEOUT: upstreamLater(
    'The model did not answer within {timeoutSeconds} seconds.',
    'Try again, or use a faster model.',
  ),
  LLM_UNAVAILABLE: upstreamLater(
    'The model provider cannot be reached or failed: {reason}',
    'Try again later; check the base URL of the credential.',
  ),
  LLM_BAD_REQUEST: tenant(
    'The model provider refused the request (HTTP {status}): {reason}',
    'Check the tool schemas and the parameters of the tier.',
  ),
  LLM_BAD_REPLY: upstreamLater(
    'The model provider sent a reply that is not a chat completion: {reason}',
    'Check that the base URL is an OpenAI-compatible API.',
  ),
  LLM_EMPTY_REPLY: upstreamLater(
    'The model answered with neither text nor tool calls, twice.',
    'Try again, or use another model.',
  ),
  LLM_CONTENT_FILTERED: upstream(
    "The model provider's content filter withheld the answer.",
    'Change the message, or use another model.',
  ),

  // Postgres
  DB_UNREACHABLE: ofInstallation(
    upstreamLater(
      'The database cannot be reached: {reason}.',
      'Check host, port and network of the Postgres credential.',
    ),
  ),
  DB_UNAVAILABLE: ofInstallation(
    upstreamLater(
      'The database refuses for now: {reason}.',
      'Look at the server: it may be a standby, out of disk, overloaded, or hold a lock for long. Tasks of the queue wait for it.',
    ),
  ),
  DB_AUTH_FAILED: ofInstallation(
    caller(
      'The database refused user "{user}": {reason}.',
      'Check user, password and database name of the Postgres credential.',
    ),
  ),
  DB_SCHEMA_MISSING: ofInstallation(
    tenant('The database lacks our tables: {reason}.', 'Run `universal-ai-agent db migrate` against this database.'),
  ),
  DB_SCHEMA_DAMAGED: ofInstallation(
    tenant(
      'The table {table} cannot be adopted: {reason}.',
      'Rename it if it is none of ours, or restore it from a backup; then run `universal-ai-agent db migrate`.',
    ),
  ),
  DB_PERMISSION_DENIED: ofInstallation(
    tenant(
      'The database user lacks a right: {reason}.',
      'Grant the user SELECT, INSERT, UPDATE and DELETE on the elo_ tables. `db migrate` has to run as their owner.',
    ),
  ),
  DB_QUERY_FAILED: internal(
    'A database statement failed: {reason}.',
    'Run `universal-ai-agent db status`; report it if the schema is complete.',
  ),
  SQL_REFUSED: tenant(
    'The query is refused: {reason}.',
    'Write one SELECT that reads tables, with the usual functions of Postgres.',
  ),
  SQL_FAILED: tenant('The query failed: {reason}.', 'Correct the query and call the tool again.'),
  SQL_ROLE_UNSAFE: tenant(
    'The database role "{user}" may not be used for queries: {reason}.',
    'Make a role with "universal-ai-agent db sql-role --name NAME", and use it for queries only.',
  ),
  SQL_ROLE_NOT_MADE: caller(
    'The role "{role}" cannot be made: {reason}.',
    'Correct what the message names; the command needs the owner of the tables with CREATEROLE, or a superuser.',
  ),
  LEDGER_WRITE_DELAYED: upstreamLater(
    'The usage of this run will be written to the ledger later: {reason}. Not written yet: {unwritten}.',
    'Restore the database. What is kept in Redis is written then, by this process or another one.',
  ),
  LEDGER_WRITE_FAILED: upstreamLater(
    'The usage of this run could not be written to the ledger: {reason}. Not written: {unwritten}.',
    'Restore the database, then book the usage that the message names by hand.',
  ),

  // Tools: these reach the model, so that it can act on them
  TOOL_NOT_FOUND: tenant(
    'There is no tool named "{tool}". Available tools: {available}.',
    'Call one of the available tools, or answer without it.',
  ),
  TOOL_INVALID_ARGS: tenant(
    'The arguments of "{tool}" are not valid: {issues}.',
    'Correct the arguments and call the tool again.',
  ),
  TOOL_ARGUMENTS_TRUNCATED: tenant(
    'The reply was cut off inside the arguments of "{tool}"; nothing was executed.',
    'Call the tool again with shorter arguments.',
  ),
  TOOL_CALL_LIMIT: tenant(
    'Only {limit} tool calls are executed in one step; "{tool}" was not.',
    'Call the tool again in the next step.',
  ),
  TOOL_RUN_LIMIT: tenant(
    'Tool "{tool}" was not called: this run may make {limit} of these calls.',
    'Go on without more calls of this kind.',
  ),
  TOOL_PERMISSION_DENIED: tenant(
    'Tool "{tool}" was not called: {reason}.',
    'Do without it, or with what the rules allow.',
  ),
  TOOL_LIMIT_REACHED: tenant(
    'Tool "{tool}" was not called: {reason}.',
    'Do not call it again now; its limit counts over all runs of the tenant.',
  ),
  TOOL_NOT_AUTHORIZED: upstreamLater(
    'Tool "{tool}" was not called: its permission could not be checked.',
    'Try the call again later.',
  ),
  TOOL_APPROVAL_DENIED: tenant('Tool "{tool}" was not called: a person refused it.', 'Do without it, and say so.'),
  TOOL_REPEATED: tenant(
    'Tool "{tool}" was not called again: the same call gave this result {count} times.',
    'Use the result; the run ends when the call is repeated once more.',
  ),
  TOOL_TIMEOUT: upstreamLater(
    'Tool "{tool}" did not answer within {timeoutMs} ms. Whether it took effect is unknown.',
    'Do not repeat an action that must not happen twice.',
  ),
  TOOL_UNREACHABLE: upstreamLater(
    'Tool "{tool}" cannot be reached: {reason}.',
    'Try another way, or say that the tool is not available.',
  ),
  TOOL_OUTCOME_UNKNOWN: upstream(
    'Tool "{tool}" was called, and the run broke off before its answer was on record. Whether it took effect is unknown.',
    'Do not simply call it again: check first whether it took effect, or say that its outcome is unknown.',
  ),
  TOOL_CONNECTION_LOST: upstreamLater(
    'The connection was lost while tool "{tool}" was called. Whether it took effect is unknown.',
    'Do not repeat an action that must not happen twice.',
  ),
  TOOL_HTTP_ERROR: upstream(
    'Tool "{tool}" answered HTTP {status}: {body}',
    'Read the answer; correct the arguments if it names them.',
  ),
  TOOL_BUSY: upstreamLater(
    'Tool "{tool}" limits the rate of calls; try again {when}. It answered: {body}',
    'Wait as long as the message says, or go on without the tool.',
  ),
  TOOL_FAILED: upstream('Tool "{tool}" failed: {reason}', 'Read the reason; correct the arguments if it names them.'),
  TOOL_CANCELLED: caller('Tool "{tool}" was cancelled with the run.', 'Nothing to do: the run was stopped.'),

  TOOL_NOT_CALLABLE: caller(
    'Tool "{tool}" cannot be called: {reason}',
    'See "universal-ai-agent tools list" for what the tenant has.',
  ),
  MCP_SERVER_UNKNOWN: caller(
    'Tenant {tenantId} uses no MCP server "{server}".',
    'See "universal-ai-agent mcp health" for the servers of a tenant, or add one with "mcp add".',
  ),

  MCP_SERVER_EXISTS: caller(
    'MCP server "{server}" is registered with another address or transport: {url}.',
    'Choose another name, or change the row in elo_agent_mcp_servers.',
  ),

  // The vault
  VAULT_KEY_MISSING: caller(
    'Secrets and OAuth tokens are kept encrypted, and there is no vault key.',
    'Give the vault key: in the credential of the node, or as AGENT_VAULT_KEY on the command line.',
  ),
  VAULT_KEY_INVALID: caller(
    'The vault key is not 32 bytes as base64.',
    'Make one with "universal-ai-agent keygen"; several keys stand with commas between.',
  ),
  VAULT_KEY_WRONG: caller(
    'A secret cannot be opened with the vault key {keyId}: it was sealed with another key, for another owner, or changed.',
    'Give the key that it was sealed with, or store the secret again.',
  ),
  VAULT_SECRET_INVALID: caller(
    'The secret cannot be stored: {reason}.',
    'Correct what the message names and store the secret again.',
  ),
  VAULT_SECRET_UNKNOWN: caller(
    'The vault has no secret "{name}" {scope}.',
    'See "universal-ai-agent vault list" for the names that there are.',
  ),

  // Warnings: the run goes on, and says so in `warnings`
  TOOL_SKIPPED: tenant(
    'Tool "{tool}" is not offered: {reason}.',
    "Correct the row in elo_agent_tools or the tenant's custom_config.",
  ),
  CONNECTED_TOOL_UNUSABLE: caller(
    'The connected tool "{tool}" cannot be used: {reason}.',
    'Connect another tool. Where a person has to agree to its calls, connect the tool itself, and set its decision to ask in the option Tool Permissions.',
  ),
  TOOL_NOT_LOADED: caller(
    'Tool "{tool}" is in the allow-list, but the tenant has no such tool for this tier.',
    'Correct the name, or enable the tool for the tenant.',
  ),
  MCP_SERVER_INVALID: tenant(
    'MCP server "{server}" cannot be used: {reason}.',
    'Correct the row in elo_agent_mcp_servers or elo_t_tenant_mcp_servers, or the option MCP Servers.',
  ),
  MCP_HOST_FORBIDDEN: tenant(
    'MCP server "{server}" of the workflow is refused: the tenant does not allow the host {host}.',
    'Use an allowed server, or add the host to settings.mcp_allowed_hosts of the tenant.',
  ),
  MCP_SERVER_SKIPPED: upstreamLater(
    'MCP server "{server}" gave no tools: {reason}.',
    'See whether the server runs; "universal-ai-agent mcp health" asks it again.',
  ),
  MCP_LOGIN_REQUIRED: tenant(
    'MCP server "{server}" asks for a login.',
    'Run "universal-ai-agent mcp login {server} --tenant {tenantId}".',
  ),
  MCP_CREDENTIAL_REFUSED: tenant(
    'MCP server "{server}" refuses the credential: {reason}.',
    'Give the tenant another credential for this server.',
  ),
  MCP_TOOLS_SKIPPED: upstream(
    '{count} tool(s) of MCP server "{server}" are not offered, since {reason}: {tools}.',
    'Correct the tools on the server, or leave them out with exclude_tools.',
  ),
  MCP_TOOLS_QUARANTINED: tenant(
    '{count} tool(s) of MCP server "{server}" are new or changed, and wait for approval: {tools}.',
    'Look at them with "universal-ai-agent tools list", then run "universal-ai-agent mcp approve {server}".',
  ),
  TOOL_OUTPUT_NOT_JSON: upstream('The tool answered with text that is not JSON.', 'The text is given as it came.'),
  WORKFLOW_ANSWERS_EARLY: tenant(
    'The workflow was started, but its result does not come back: its Webhook node answers at once.',
    'Set Respond of its Webhook node to "When Last Node Finishes" or to "Using Respond to Webhook Node".',
  ),
  TOOL_OUTPUT_TRUNCATED: upstream(
    "The tool's answer was cut at {limitBytes} bytes.",
    'Ask for less, for example for fewer rows.',
  ),
  ITERATIONS_CLAMPED: tenant(
    'Max Iterations {asked} was lowered to {maxIterations}.',
    'Raise settings.max_iterations of the tenant; the hard ceiling is {ceiling}.',
  ),
  FINAL_ANSWER_MISSING: tenant(
    'Asked for a final answer, the model gave none: the text is the last one that it wrote before, if any.',
    'Raise Max Iterations, or use a model that answers when it is asked to.',
  ),
  USAGE_MISSING: upstream(
    'The model provider reported no usable usage for call {callNo}; it counts as zero.',
    "Compare with the provider's own bill.",
  ),
  USAGE_CONTRADICTORY: upstream(
    'The token counts of the model provider are incomplete or do not add up in {count} case(s), and the highest reading was billed: {first}.',
    "Compare with the provider's own bill.",
  ),
  REPLIES_WASTED: upstream(
    '{count} response(s) of the model provider held no usable answer and were billed all the same, since they name what they used.',
    'Nothing to do, unless it happens often: then look at the provider or the model.',
  ),
  COST_FROM_PROVIDER: upstream(
    'The usage of call {callNo} has no price or cannot be relied upon, so the cost that the model provider named was booked: ${cost}.',
    "Compare with the provider's own bill.",
  ),
  COST_DIFFERS: tenant(
    'The model provider names ${theirs} for {count} response(s) that cost ${ours} by elo_model_pricing; the latter was billed.',
    'Correct the prices of the model in elo_model_pricing, or expect fees that are not for tokens.',
  ),
  MEMORY_UNAVAILABLE: upstreamLater(
    'The connected memory gave no history: {reason}.',
    'Check the memory, its credential and its session key. Nothing was asked of the model.',
  ),
  MEMORY_NOT_SAVED: upstream(
    'The connected memory did not take this turn: {reason}.',
    'Check the memory and its credential. The answer is given all the same, but the next turn will not know of it.',
  ),
  USAGE_RECORDED: tenant(
    'The usage was recorded although it was asked not to be, since the tenant has a monthly limit.',
    'Remove the limit of the tenant, or leave Record Usage on.',
  ),
  MODEL_FALLBACK: upstream(
    'Model "{model}" failed with {code}, so the fallback "{fallback}" answered.',
    'Nothing to do, unless it happens often: then look at the first model.',
  ),
  MODEL_SETTINGS_UNUSED: caller(
    'A connected chat model answers, so these settings of the task were not used: {settings}.',
    'Set them on the connected chat model, or leave them out of the task.',
  ),
  USAGE_UNPRICED: tenant(
    'Model "{model}" has no price, so its tokens cost 0 here unless the provider names their cost.',
    'Give it one with `universal-ai-agent price sync` or `price set`. A variant such as :free, or a dated id, needs its own.',
  ),
  USAGE_UNKNOWN: upstream(
    '{count} request(s) to the model provider got no answer; their usage is unknown.',
    "Compare with the provider's own bill.",
  ),
  CONFIG_KEY_UNKNOWN: caller(
    'The config of the task has keys that nobody reads: {keys}.',
    'Leave them out, or correct their names; those that there are stand in docs/configuration.md.',
  ),
  CALLBACK_NOT_DELIVERED: caller(
    'The callback of the task was not delivered: {reason}.',
    'Read the result from this output.',
  ),

  // Tasks of the queue, and where their answers go
  TASK_TYPE_UNKNOWN: caller(
    'Unknown task_type: {taskType}',
    'Use one of ai_agent, llm_extraction, llm_generation, http_request, webhook_call, or forward the others to a list.',
  ),
  TASK_REQUEST_REFUSED: caller(
    'The address of the task is refused: {reason}.',
    'Use a public address, or add the host to AGENT_CALLBACK_HOSTS.',
  ),
  TASK_REQUEST_FAILED: upstreamLater(
    'The request of the task failed: {reason}.',
    'See whether the server runs; nothing was changed, or the request may be repeated.',
  ),
  TASK_HTTP_ERROR: upstream(
    'The server answered the request of the task with HTTP {status}: {body}',
    'Read the answer, and correct the task if it names it.',
  ),
  TASK_OUTCOME_UNKNOWN: upstream(
    'The request of task "{taskId}" was sent once, and nobody knows what became of it.',
    'Look on the server; push the task under a new task_id if it has to be sent again.',
  ),
  MODEL_OUTPUT_INVALID: upstream(
    'The answer of the model cannot be used: {reason}.',
    'See the raw text in the result; say in the prompt what was wrong, or raise max_tokens.',
  ),
  REDIS_MISSING: caller(
    '{what} needs Redis, and none is connected.',
    'Give a Redis: the credential of the node, REDIS_URL on the command line, or redis in the configuration.',
  ),
  REDIS_UNAVAILABLE: ofInstallation(
    upstreamLater('Redis cannot be reached or failed: {reason}.', 'Check that it runs, and host, port and password.'),
  ),
  CALLBACK_KEY_FORBIDDEN: caller(
    'The key in callback.{field} must not be written: {reason}.',
    'Use a key such as elo:results:trace-1, or have its prefix allowed in AGENT_CALLBACK_KEY_PREFIXES.',
  ),
  CALLBACK_KEY_UNUSABLE: caller(
    'The key "{key}" cannot be used: {reason}.',
    'Use a key of its own for each purpose, and delete what stands there.',
  ),
  CALLBACK_HOST_FORBIDDEN: caller(
    'The webhook of the callback is refused: {reason}.',
    'Use an allowed host, or add it to AGENT_CALLBACK_HOSTS or settings.callback_hosts of the tenant.',
  ),
  CALLBACK_FAILED: upstreamLater(
    'The result is stored, but the webhook of the callback failed: {reason}.',
    'See whether the receiver runs; another attempt sends the webhook only.',
  ),
  WEBHOOK_UNSIGNED: caller(
    'The webhook of the callback is not signed, since there is neither a webhook secret nor a vault key.',
    'Set AGENT_WEBHOOK_SECRET, so that the receiver can tell who calls.',
  ),
  RESULT_NOT_READY: callerLater(
    'There is no result under "{key}" after {waitedSeconds} seconds.',
    'Wait longer, or see whether a worker takes tasks off the list.',
  ),

  // The queue itself
  TASK_TOO_LARGE: caller(
    'The task has {size} bytes; {limit} is the limit.',
    'Put what is large somewhere else, and its address into the task.',
  ),
  TASK_CRASHED: internal(
    'Every process that took the task up was lost; this happened {count} times.',
    'See why the workers end, out of memory for one; then run "universal-ai-agent queue retry-failed".',
  ),
  REDIS_AUTH_FAILED: caller(
    'Redis refuses the connection: {reason}.',
    'Check user and password, and that the user may do what a queue needs.',
  ),
  QUEUE_REDIS_EVICTS: caller(
    'This Redis throws keys away when its memory is full (maxmemory-policy {policy}), so tasks would be lost.',
    'Set maxmemory-policy noeviction, or use another Redis for the queue.',
  ),
  QUEUE_REDIS_UNSUITABLE: caller(
    'This Redis cannot hold a queue: {reason}.',
    'Use a single Redis server of version 6.2 or later that takes writes, and a user who may read INFO and run scripts.',
  ),
  QUEUE_CONSUMER_STALLED: internal(
    'A consumer of the queue takes no tasks: {reason}.',
    'It makes its connections anew by itself within seconds. Where it says so again and again, see in its log what Redis answers, or restart it.',
  ),

  // Executions that the trigger starts, and results that a tool may not read
  EXECUTION_FAILED: callerLater(
    'The execution of the workflow failed: {reason}.',
    'Open the execution in n8n and correct what it names.',
  ),
  EXECUTION_LOST: callerLater(
    'The execution of the workflow did not come to its end: {reason}.',
    'Nothing to do: the task is tried again. Lower Attempts if that is not wanted.',
  ),
  TASK_NOT_TAKEN: callerLater(
    'No task was taken off the list: the queue is paused, or none came for a day.',
    'Resume the queue, or push a task and test again.',
  ),
  RESULT_UNTRUSTED: caller(
    'As a tool of another agent, this node must not take the key of a result from an expression in which a model could have a say, such as $json or $fromAI.',
    "Name the node that the key comes from, such as {{ $('Enqueue').item.json.result_key }}.",
  ),

  INTERNAL_ERROR: internal('Something unexpected went wrong: {reason}', 'Report it with the code and the message.'),
} as const satisfies Record<string, CodeRow>;

export type ErrorCode = keyof typeof ERROR_CODES;
