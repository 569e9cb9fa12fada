import { monotonicMs } from '../../util/clock';
import { isJsonObject, tryParseJson } from '../../util/json';
import type { Fetch } from '../http-fetch';

/** Requests that were refused with the old token may come this much later. */
const SHARED_MS = 10_000;

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/**
 * A `fetch` that uses each refresh token once. When a token ends, every call under way is refused and the SDK would
 * renew for each of them; authorization servers take the second use of a refresh token for theft.
 */
export function shareRefreshes(fetch: Fetch): Fetch {
  const answers = new Map<string, { readonly answer: Promise<Answer>; readonly at: number }>();
  const ask = async (url: string | URL, init: RequestInit): Promise<Answer> => {
    const response = await fetch(url, init);
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const remember = (token: string, answer: Promise<Answer>): void => {
    answers.set(token, { answer, at: monotonicMs() });
    answer.then(
      ({ status, text }) => {
        // A request that was refused may be made again; tokens that just came need no renewal.
        if (status >= 400) answers.delete(token);
        const next = nextToken(text);
        if (next !== undefined) answers.set(next, { answer, at: monotonicMs() });
      },
      () => answers.delete(token),
    );
  };
  return async (url, init = {}) => {
    const token = refreshToken(init.body);
    if (token === undefined) return fetch(url, init);
    for (const [old, { at }] of answers) if (monotonicMs() - at > SHARED_MS) answers.delete(old);
    const known = answers.get(token);
    const answer = known?.answer ?? ask(url, init);
    if (known === undefined) remember(token, answer);
    const { status, headers, text } = await answer;
    return new Response(text, { status, headers });
  };
}

function refreshToken(body: RequestInit['body']): string | undefined {
  if (!(body instanceof URLSearchParams) || body.get('grant_type') !== 'refresh_token') return undefined;
  return body.get('refresh_token') ?? undefined;
}

function nextToken(text: string): string | undefined {
  const parsed = tryParseJson(text);
  const token = parsed.ok && isJsonObject(parsed.value) ? parsed.value.refresh_token : undefined;
  return typeof token === 'string' ? token : undefined;
}
