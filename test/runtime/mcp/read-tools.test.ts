import type { McpServer } from '../../../runtime/contracts/tools/mcp';
import { readTools } from '../../../runtime/mcp/read-tools';

const server = { name: 'shop', excludeTools: [] } as unknown as McpServer;
const listed = (count: number, kind: string) =>
  Array.from({ length: count }, (_, index) => ({
    name: `${kind}${index}`,
    inputSchema: { type: 'object' as const, title: kind.padEnd(60_000, 'x') },
  }));

function checked() {
  const seen: string[] = [];
  const check = ({ title }: { readonly title?: unknown }): void => {
    seen.push(String(title).slice(0, 3));
    if (String(title).startsWith('bad')) throw new Error('it is none');
  };
  return { seen, check };
}

it('tools that are refused leave the room of the list to the others', async () => {
  const { check } = checked();
  const { tools } = await readTools(server, [...listed(40, 'bad'), ...listed(10, 'good')], check);
  expect(tools.map(({ name }) => name)).toEqual(listed(10, 'good').map(({ name }) => name));
});

it('after a hundred refused schemas no more are looked at', async () => {
  const { check, seen } = checked();
  const { tools, warnings } = await readTools(server, [...listed(150, 'bad'), ...listed(1, 'good')], check);
  expect({ tools, looked: seen.length }).toEqual({ tools: [], looked: 100 });
  expect(warnings.map(({ message }) => message)).toEqual([
    expect.stringContaining('their schemas cannot be used (it is none)'),
    expect.stringContaining('they come after 100 whose schemas cannot be used'),
  ]);
});

it('a list is still no longer than a million characters', async () => {
  const { tools } = await readTools(server, listed(30, 'good'), checked().check);
  expect(tools).toHaveLength(16);
});
