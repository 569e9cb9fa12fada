/**
 * A database's address as n8n's Postgres credential holds it.
 * @param {string} url
 */
export function postgresCredential(url) {
  const { hostname, port, pathname, username, password } = new URL(url);
  return {
    host: hostname,
    port: Number(port),
    database: pathname.slice(1),
    user: username,
    password: decodeURIComponent(password),
    ssl: 'disable',
    sshTunnel: false,
  };
}
