#!/usr/bin/env node
// Nothing is loaded before the version is known: an old Node fails in the middle of a bundled package.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 19)) {
  process.stderr.write(`universal-ai-agent needs Node.js 22.19 or newer; this is ${process.versions.node}.\n`);
  process.exitCode = 2;
} else {
  // Who reads, `head` for one, may be gone before the end; a full disk takes nothing.
  process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    if (code !== 'EPIPE') {
      process.stderr.write(`${JSON.stringify({ code: 'OUTPUT_FAILED', message, hint: 'Write it somewhere else.' })}\n`);
    }
    process.exit(code === 'EPIPE' ? 0 : 1);
  });
  // A command that nothing goes on with has not done what it was told.
  process.exitCode = 1;
  const tellOfNothing = (): void => {
    const message = 'The command ended without a result.';
    process.stderr.write(
      `${JSON.stringify({ code: 'INTERNAL_ERROR', message, hint: 'Report it with what you ran.' })}\n`,
    );
  };
  process.once('beforeExit', tellOfNothing);
  void import('./main').then(async ({ runCommandLine }) => {
    process.exitCode = await runCommandLine(process.argv.slice(2), process);
    process.off('beforeExit', tellOfNothing);
  });
}
