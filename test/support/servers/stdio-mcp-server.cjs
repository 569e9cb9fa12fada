// An MCP server that is a program of its own. It tells what it sees of the environment.
const { McpServer } = require('@modelcontextprotocol/sdk/server/mcp.js');
const { StdioServerTransport } = require('@modelcontextprotocol/sdk/server/stdio.js');

const mcp = new McpServer({ name: 'stdio', version: '1.0.0' });
mcp.registerTool('stock', { description: 'Counts parts' }, () => ({
  content: [{ type: 'text', text: `7 parts ${process.env.SECRET_OF_THE_HOST ?? 'and no secret'}` }],
}));
void mcp.connect(new StdioServerTransport());
