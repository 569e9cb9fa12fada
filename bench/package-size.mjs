// How large the published package is, and the parts of the runtime. Build first.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const BAR_MB = 2.5;
const root = fileURLToPath(new URL('..', import.meta.url));
const runtimeFolder = `${root}dist/runtime`;
const kilobytes = (bytes) => `${(bytes / 1000).toFixed(1).padStart(9)} kB`;

// Scripts are left out: packing must measure what is there, not build it anew.
const output = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
  cwd: root,
  encoding: 'utf8',
  stdio: ['ignore', 'pipe', 'ignore'],
});
// An array up to npm 11; some versions key the same entry by the package's name.
const [packed] = Object.values(JSON.parse(output));
const isWithin = packed.size <= BAR_MB * 1_000_000;
const verdict = isWithin ? 'met' : `missed by ${(packed.size / 1_000_000 - BAR_MB).toFixed(2)} MB`;
console.log(`${kilobytes(packed.size)}  packed tarball (bar <= ${BAR_MB} MB): ${verdict}`);
console.log(`${kilobytes(packed.unpackedSize)}  unpacked, ${packed.files.length} files`);

if (existsSync(runtimeFolder)) {
  const names = readdirSync(runtimeFolder).filter((name) => name.endsWith('.js'));
  for (const name of names)
    console.log(`${kilobytes(statSync(`${runtimeFolder}/${name}`).size)}  dist/runtime/${name}`);
} else {
  console.log('dist/runtime is missing (npm run build makes it)');
}
