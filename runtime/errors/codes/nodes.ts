import { caller, callerLater, family } from '../code-row';

/** The nodes in n8n. */
export const NODES_CODES = family('The nodes in n8n', {
  CONTEXT_INVALID: caller('Context is not valid JSON: {reason}.', 'Give a JSON object, or leave Context empty.'),
  TENANT_UNTRUSTED: caller(
    'For another agent, this node must not take its tenant, tier, agent or IDs from an expression in which a model could have a say, such as $json, $fromAI or $tool.',
    "Choose the tenant from the list, or name the node it comes from, such as {{ $('Webhook').first().json.body.tenant }}. Below an MCP Server Trigger 2.1, $json.user and $json.headers can be used.",
  ),
  IDENTITY_UNTRUSTED: caller(
    'As a tool of another agent, this node must not take its Identity from an expression in which a model could have a say, such as $json or $fromAI.',
    "Leave it empty, or name the node it comes from, such as {{ $('Webhook').item.json.body.user_id }}.",
  ),
  ITEMS_DIFFER: caller(
    'The agent has items that may be for different tenants, and n8n does not tell this node which of them a call is for.',
    "Put a Loop Over Items node with a batch size of 1 before the agent; where all items are of one tenant, name an item: {{ $('Webhook').first().json.body.tenant }}.",
  ),
  CALLER_UNKNOWN: caller(
    'The call was not made: this version of n8n does not tell which item of the agent it is for.',
    'Use a version of n8n that this package was tested with, or an AI Agent of version 2.',
  ),
  APPROVAL_OF_OTHER_CALL: caller(
    'Tool "{tool}" was not called: what was approved was shown as another call.',
    'The model wrote over what was shown. Run the workflow again.',
  ),
  MODEL_BILLED_TWICE: caller(
    'A Tenant Model was connected to the Universal AI Agent, which asks the models of its tenant itself and would bill each call twice.',
    'Remove the Tenant Model, and choose Tenant and Tier in the agent.',
  ),
  HOST_MODEL_MISSING: caller(
    "The class ChatOpenAI of LangChain, of which the model is built, is not among n8n's own packages.",
    'Use a version of n8n that this package was tested with, or the node Universal AI Agent.',
  ),
  NODE_SETUP: caller('{reason}', 'Check the parameters and credentials of this node.'),
  SSH_TUNNEL_UNSUPPORTED: caller(
    'The Postgres credential uses an SSH tunnel, which this node does not open.',
    'Use a Postgres credential that reaches the database directly.',
  ),
  EXECUTION_FAILED: callerLater(
    'The execution of the workflow failed: {reason}.',
    'Open the execution in n8n and correct what it names.',
  ),
  EXECUTION_LOST: callerLater(
    'The execution of the workflow never finished: {reason}.',
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
});
