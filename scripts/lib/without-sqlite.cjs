const Module = require('node:module');

/**
 * Loaded by n8n before anything else. Its AI Agent asks for `sqlite3` as soon as it is loaded, for a kind of agent that
 * reads SQLite files. That package is a native one which would have to be compiled; nobody uses it here.
 */
const load = Module._load;
Module._load = function withoutSqlite(request, ...rest) {
  return request === 'sqlite3' ? {} : load.call(this, request, ...rest);
};
