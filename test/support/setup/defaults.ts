// A loaded machine takes its time.
jest.setTimeout(120_000);
// What n8n-core logs about nodes that fail on purpose.
process.env.N8N_LOG_LEVEL ??= 'silent';
