import path from 'node:path';

/**
 * @typedef {object} N8nSettings
 * @property {string} userFolder
 * @property {number} port
 * @property {number} brokerPort
 * @property {string} encryptionKey
 * @property {string} postgresUrl
 * @property {string[]} [nodeOptions] more options of its Node
 */

/**
 * The whole environment of an n8n that listens on loopback only and keeps to itself.
 * @param {N8nSettings} settings
 * @returns {Record<string, string | undefined>}
 */
export function n8nEnvironment({ postgresUrl, ...settings }) {
  return { ...inheritedEnvironment(), ...instanceEnvironment(settings), ...databaseEnvironment(postgresUrl) };
}

const withoutSqlite = path.join(import.meta.dirname, 'without-sqlite.cjs');

/** The caller's environment without what would configure n8n or Node behind our back. */
function inheritedEnvironment() {
  const foreign = /^(N8N_|DB_|QUEUE_|EXECUTIONS_|NODES_|npm_|NODE_OPTIONS$|NODE_ENV$)/i;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name)));
}

/** @param {Omit<N8nSettings, 'postgresUrl'>} settings */
function instanceEnvironment({ userFolder, port, brokerPort, encryptionKey, nodeOptions = [] }) {
  return {
    // Without it, n8n's own AI Agent does not load in an n8n that was installed without scripts.
    NODE_OPTIONS: [`--require=${JSON.stringify(withoutSqlite)}`, ...nodeOptions].join(' '),
    N8N_USER_FOLDER: userFolder,
    N8N_ENCRYPTION_KEY: encryptionKey,
    N8N_LISTEN_ADDRESS: '127.0.0.1',
    N8N_HOST: '127.0.0.1',
    N8N_PORT: String(port),
    // The default port is taken when another n8n runs on the machine.
    N8N_RUNNERS_BROKER_PORT: String(brokerPort),
    N8N_SECURE_COOKIE: 'false',
    N8N_UNVERIFIED_PACKAGES_ENABLED: 'true',
    // Nothing that calls home, and nothing that greets a newcomer.
    N8N_DISABLED_MODULES: 'mcp-registry',
    N8N_VERIFIED_PACKAGES_ENABLED: 'false',
    N8N_DIAGNOSTICS_ENABLED: 'false',
    N8N_VERSION_NOTIFICATIONS_ENABLED: 'false',
    N8N_VERSION_NOTIFICATIONS_WHATS_NEW_ENABLED: 'false',
    N8N_DYNAMIC_BANNERS_ENABLED: 'false',
    N8N_HIRING_BANNER_ENABLED: 'false',
    N8N_TEMPLATES_ENABLED: 'false',
    N8N_PERSONALIZATION_ENABLED: 'false',
  };
}

/** @param {string} postgresUrl */
function databaseEnvironment(postgresUrl) {
  const url = new URL(postgresUrl);
  return {
    DB_TYPE: 'postgresdb',
    DB_POSTGRESDB_HOST: url.hostname,
    DB_POSTGRESDB_PORT: url.port || '5432',
    DB_POSTGRESDB_DATABASE: decodeURIComponent(url.pathname.slice(1)),
    DB_POSTGRESDB_USER: decodeURIComponent(url.username),
    DB_POSTGRESDB_PASSWORD: decodeURIComponent(url.password),
  };
}
