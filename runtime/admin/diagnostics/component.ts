import type { ErrorSummary } from '../../errors/runtime-error';
import { toRuntimeError } from '../../errors/to-runtime-error';
import { elapsedMs, monotonicMs } from '../../util/clock';

/** One part of the installation, and how it does. */
export interface ComponentHealth {
  /** `database`, `schema`, `rows`, `prices`, `vault`, `redis`, `model provider`, `MCP server NAME`, `tool server HOST`. */
  readonly component: string;
  /** `degraded`: something in it does not work. */
  readonly state: 'up' | 'degraded' | 'down' | 'not_configured';
  readonly duration_ms: number;
  /** What is wrong; the code is one of docs/errors.md. */
  readonly problems: readonly ErrorSummary[];
}

/** Finds what is wrong with a component; nothing, when it is up. Rejects when it is down. */
type Look = () => Promise<{ readonly problems: readonly ErrorSummary[] } | undefined>;

/** Never rejects. */
export async function look(component: string, check: Look | undefined): Promise<ComponentHealth> {
  if (check === undefined) return { component, state: 'not_configured', duration_ms: 0, problems: [] };
  const startedAt = monotonicMs();
  const healthy = (state: ComponentHealth['state'], problems: readonly ErrorSummary[]): ComponentHealth => ({
    component,
    state,
    duration_ms: elapsedMs(startedAt),
    problems,
  });
  try {
    const { problems } = (await check()) ?? { problems: [] };
    return healthy(problems.length === 0 ? 'up' : 'degraded', problems);
  } catch (error) {
    return healthy('down', [toRuntimeError(error).toSummary()]);
  }
}
