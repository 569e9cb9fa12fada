// As much of undici as the runtime uses. Its index also loads fetch, caches, mocks and WebSockets,
// which made up half of our bundle and of the time to load it.
const api = require('../../node_modules/undici/lib/api');
const Agent = require('../../node_modules/undici/lib/dispatcher/agent');
const Dispatcher = require('../../node_modules/undici/lib/dispatcher/dispatcher');

Object.assign(Dispatcher.prototype, api);

/** `request` of undici, for callers that name their dispatcher. */
function request(url, { dispatcher, ...options }) {
  const { origin, pathname, search } = new URL(url);
  return dispatcher.request({ ...options, origin, path: pathname + search });
}

module.exports = { Agent, request };
