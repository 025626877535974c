/**
 * Begins every process: platform/load.mjs and main.ts import it first. It refuses a Node that is too old, and enables Node's compile cache.
 * The cache is in the node_modules of the package, so that no other user can put code there.
 */
import nodeModule from 'node:module';
import path from 'node:path';

// The programs need `import.meta.main` of Node 24.2. Without it, a program would load and do nothing. Node 22 is always refused.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 24 || (major === 24 && minor < 2)) {
  process.stderr.write(
    `Node ${process.versions.node} is too old: this needs Node 24.2 or newer. npm installs one: node_modules/.bin/node.\n`,
  );
  process.exit(1);
}

const root = path.dirname(nodeModule.findPackageJSON('..', import.meta.url) ?? '');

export const cache = path.join(root, 'node_modules', '.cache', 'club-learning');

nodeModule.enableCompileCache(path.join(cache, 'compiled'));
