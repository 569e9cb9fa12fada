import type { Tool } from '../contracts/tools/tool';
import { describeError, type ErrorSummary } from '../errors/runtime-error';

/** Leaves out the tools that need an approval, where no person is asked for one, with a warning for each. */
export function unattended<T extends { readonly tool: Tool }>(
  tools: readonly T[],
): { readonly open: readonly T[]; readonly unreviewed: readonly ErrorSummary[] } {
  const isClosed = ({ tool: { policy } }: T): boolean => policy?.needsApproval === true;
  const closed = tools.filter(isClosed);
  return {
    open: closed.length === 0 ? tools : tools.filter((one) => !isClosed(one)),
    unreviewed: closed.map(({ tool: { definition } }) => describeError('TOOL_UNREVIEWED', { tool: definition.name })),
  };
}
