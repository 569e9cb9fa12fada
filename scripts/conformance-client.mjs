// Our client pool as the client under test of any MCP conformance suite: `npm run --silent conformance:client -- <url>`.
import { buildConformanceClient } from './lib/conformance-client.mjs';

// The program reads the server's URL where it stands for this script: as the first argument.
await import(await buildConformanceClient());
