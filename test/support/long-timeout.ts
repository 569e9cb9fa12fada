// A real n8n, a browser or a storm takes its time.
jest.setTimeout(180_000);
