// The library door. n8n itself reads the `n8n` field of package.json instead.
module.exports = require('./dist/runtime/index.js');
