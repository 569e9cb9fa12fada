/** The request of the documents, for a tenant that exists. */
export function documentsTask(
  tenantId: string,
  { taskId = 'agent_123', webhook = 'https://n8n.example/webhook/callback' } = {},
) {
  return {
    task_id: taskId,
    trace_id: 'trace_456',
    task_type: 'ai_agent',
    config: {
      agent_tier: 'pro',
      system_prompt: 'You are a helpful assistant...',
      message: 'Find all orders for client X',
      context: { client_id: '123', dialog_id: '456' },
      max_iterations: 5,
      temperature: 0.7,
    },
    meta: { tenant_id: tenantId, client_id: 'client-123', dialog_id: 'dialog-456' },
    callback: { result_key: 'elo:results:trace_456', notify_webhook: webhook },
  };
}
