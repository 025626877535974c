/**
 * Ends a program that an older Node runs. Every entry point imports it first: without `import.meta.main`, which came with
 * Node 24.2, the program would load and do nothing.
 */
if (typeof import.meta.main !== 'boolean') {
  process.stderr.write(
    `Node ${process.versions.node} is too old: this needs Node 24.2 or newer. npm installs one: node_modules/.bin/node.\n`,
  );
  process.exit(1);
}
