/**
 * @typedef {{ email: string, password: string }} Owner
 * @typedef {(method: string, path: string, body?: unknown) => Promise<any>} Rest
 */

/**
 * A person's session with n8n: its cookie, and the REST interface that the editor uses.
 * @param {string} baseUrl
 */
export function createSession(baseUrl) {
  let cookie = '';

  /** @type {(method: string, path: string, body?: unknown) => Promise<Response>} */
  const send = async (method, restPath, body) => {
    const response = await fetchAnew(`${baseUrl}/rest${restPath}`, {
      method,
      headers: { 'content-type': 'application/json', cookie },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const set = response.headers.getSetCookie().find((line) => line.startsWith('n8n-auth='));
    if (set) cookie = set.split(';')[0];
    return response;
  };

  /**
   * Any call under /rest; resolves with the reply's `data`, rejects on an HTTP error.
   * @type {Rest}
   */
  const rest = async (method, restPath, body) => {
    const response = await send(method, restPath, body);
    const text = await response.text();
    const json = parseJson(text);
    if (!response.ok) {
      throw new Error(
        `n8n answered ${response.status} to ${method} /rest${restPath}: ${json?.message ?? text.slice(0, 500)}`,
      );
    }
    return json?.data ?? json;
  };

  /**
   * Sets the owner up on a new n8n; logs in on one that has its owner.
   * @param {Owner} owner
   */
  const logIn = async ({ email, password }) => {
    const setUp = await send('POST', '/owner/setup', { email, password, firstName: 'Demo', lastName: 'Owner' });
    await setUp.body?.cancel();
    if (!setUp.ok) await rest('POST', '/login', { emailOrLdapLoginId: email, password });
  };

  return { rest, logIn };
}

/**
 * A request on a connection of its own. n8n closes idle ones after some seconds, and on a busy machine a request can be on its
 * way on one just then.
 * @param {string} url
 * @param {RequestInit} options
 */
export const fetchAnew = (url, { headers, ...options }) =>
  fetch(url, { ...options, headers: { ...headers, connection: 'close' } });

/**
 * @param {string} text
 * @returns {any} undefined when it is not JSON
 */
export function parseJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
