/**
 * Run `node dev/packages/complete-lock.mjs` after a change of dependencies. It adds optional packages for other platforms to
 * package-lock.json. npm leaves them out if the registry does not have them. Then `npm ci` refuses the lock file on every machine. An
 * entry has only version and platform; npm finds address and checksum at the installation.
 */
import { readFileSync, writeFileSync } from 'node:fs';

const file = new URL('../../package-lock.json', import.meta.url);
const platform = /(android|darwin|freebsd|linux|openharmony|win32)-(\w+)(?:-(gnu|musl|eabi|msvc))?\w*$/;

const lock = JSON.parse(readFileSync(file, 'utf8'));
const added = Object.entries(lock.packages).flatMap(([where, entry]) =>
  Object.entries(entry.optionalDependencies ?? {})
    .filter(([name]) => !isLocked(where, name))
    .map(([name, version]) => [`node_modules/${name}`, entryFor(name, version, entry)]),
);
const packages = Object.entries({ ...lock.packages, ...Object.fromEntries(added) });
lock.packages = Object.fromEntries(packages.toSorted(([a], [b]) => a.localeCompare(b, 'en')));
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
process.stdout.write(`${added.length} packages added to the lock file.\n`);

/** Looks in this package's node_modules and in the parent directories, like npm. */
function isLocked(where, name) {
  for (let folder = where; ; folder = folder.slice(0, folder.lastIndexOf('/node_modules/'))) {
    if (lock.packages[`${folder ? `${folder}/` : ''}node_modules/${name}`]) return true;
    if (!folder.includes('/node_modules/')) return folder !== '' && Boolean(lock.packages[`node_modules/${name}`]);
  }
}

function entryFor(name, version, { dev, engines }) {
  const [, os, cpu, libc] = platform.exec(name) ?? [];
  if (!os) throw new Error(`${name} names no platform, so npm omitted it for another reason.`);
  return {
    version,
    cpu: [cpu],
    ...(dev && { dev }),
    ...(os === 'linux' && libc && { libc: [libc === 'gnu' ? 'glibc' : libc] }),
    optional: true,
    os: [os],
    ...(engines && { engines }),
  };
}
