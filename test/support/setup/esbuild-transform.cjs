const { createHash } = require('node:crypto');
const { transformSync } = require('esbuild');

const LOADERS = { '.ts': 'ts', '.mts': 'ts', '.sql': 'text', '.js': 'js', '.mjs': 'js' };

/** The same compiler as the build, so that tests run what ships. */
module.exports = {
  getCacheKey: (source, file) => createHash('sha1').update(source).update(file).digest('hex'),
  process: (source, file) => {
    const extension = file.slice(file.lastIndexOf('.'));
    return transformSync(source, {
      loader: LOADERS[extension],
      format: 'cjs',
      target: 'node22',
      sourcefile: file,
      sourcemap: 'inline',
      supported: { 'dynamic-import': false },
      // The helpers under scripts/ are ES modules that ask where they are.
      define: { 'import.meta.url': '__fileUrl' },
      banner: source.includes('import.meta.url')
        ? `const __fileUrl = require('node:url').pathToFileURL(__filename).href;`
        : '',
    });
  },
};
