/** A message of Postgres' protocol: https://www.postgresql.org/docs/current/protocol-message-formats.html */
function message(kind: string, body: string | Buffer): Buffer {
  const content = Buffer.from(body);
  const head = Buffer.alloc(5);
  head.write(kind);
  head.writeInt32BE(content.length + 4, 1);
  return Buffer.concat([head, content]);
}

/** ErrorResponse that ends the connection. */
export function fatalError(sqlState: string, text: string): Buffer {
  return message('E', `SFATAL\0C${sqlState}\0M${text}\0\0`);
}

/** Asks for a way to log in: 7 is GSSAPI, 9 SSPI. */
export function askFor(way: number): Buffer {
  const code = Buffer.alloc(4);
  code.writeInt32BE(way);
  return message('R', code);
}

/** AuthenticationOk and ReadyForQuery: the client is in. */
export const LET_IN = Buffer.concat([askFor(0), message('Z', 'I')]);

/** The answer to a simple query that gives no rows. */
export const DONE = Buffer.concat([message('C', 'SELECT 0\0'), message('Z', 'I')]);
