/**
 * Installs node_modules if it is missing or older than package-lock.json. The scripts of package.json and temporal-dev.sh call this. It
 * runs before anything is installed, so it is plain JavaScript without dependencies. It uses only syntax of Node 12, so that a too old Node
 * can still print a clear message.
 */
import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
/** The machine's Node provides npm and runs this file. npm installs the Node version of package.json, which runs all other scripts. */
const oldestNode = 20;

/** In milliseconds since 1970; 0 if there is no such file. */
function changedAt(file) {
  try {
    return statSync(new URL(`../${file}`, import.meta.url)).mtimeMs;
  } catch {
    return 0;
  }
}

/** npm writes node_modules/.package-lock.json last, so an incomplete installation lacks it. */
function reasonToInstall() {
  const installedAt = changedAt('node_modules/.package-lock.json');
  if (installedAt === 0) return 'node_modules is missing';
  if (installedAt < changedAt('package-lock.json')) return 'package-lock.json is newer than node_modules';
  return undefined;
}

function fail(message) {
  process.stderr.write(`\n${message}\n`);
  process.exit(1);
}

if (Number.parseInt(process.versions.node, 10) < oldestNode) {
  fail(
    `Node ${process.versions.node} (${process.execPath}) is too old: this needs Node ${oldestNode} or newer (https://nodejs.org).`,
  );
}

const reason = reasonToInstall();
if (reason !== undefined) {
  process.stdout.write(`Installing packages with npm ci: ${reason}.\n`);
  // Under `npm run`, this variable names the running npm. Yarn and pnpm set it too, so the name is checked.
  const runner = process.env.npm_execpath || '';
  const npm = basename(runner) === 'npm-cli.js' ? [process.execPath, runner] : ['npm'];
  const { status, error } = spawnSync(npm[0], [...npm.slice(1), 'ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: 'inherit',
  });
  if (error)
    fail(`npm did not start (${error.message}). Install Node with npm from https://nodejs.org, then try again.`);
  if (status !== 0) {
    fail(
      [
        `npm ci failed (exit code ${status === null ? 'none' : status}); see its own message above.`,
        '  - Without a network: connect once, because npm ci needs the npm registry. Or use a mirror: npm config set registry <url>',
        '  - With a proxy: npm config set https-proxy <url>',
        '  - Otherwise: remove node_modules and try again.',
      ].join('\n'),
    );
  }
  process.stdout.write('Packages are installed.\n\n');
}
