// Loaded into n8n before anything else. Its AI Agent loads the sqlite3 client for an agent over SQL databases that
// nobody uses here; the private n8n is installed without scripts, so that client has no binary and would throw.
const Module = require('node:module');

const load = Module._load;
Module._load = function loadWithoutSqlite(request, ...rest) {
  return request === 'sqlite3' ? {} : load.call(this, request, ...rest);
};
