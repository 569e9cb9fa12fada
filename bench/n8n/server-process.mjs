// What the two server processes have in common: listen, tell the parent the port, and answer its questions.

export function serve(server, countsNow) {
  // A subject waits while the others have their turn; it must find its connections still open.
  server.keepAliveTimeout = 600_000;
  server.requestTimeout = 0;
  server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
  process.on('message', () => process.send(countsNow()));
  process.on('disconnect', () => process.exit(0));
}

export async function readText(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

export function sendJson(response, status, value) {
  const body = Buffer.from(JSON.stringify(value));
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length });
  response.end(body);
}
