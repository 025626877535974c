/** The files of this program: TypeScript in a checkout, JavaScript in what `npm run build` makes. */

/** Whether this is what `npm run build` made. */
export const isBuilt = import.meta.url.endsWith('.js');

/**
 * The compiler rewrites imports, but no address of a module that a thread or a bundler is to load. No other place names a module so.
 * @param source its path from `from`, as its source is called
 * @param from `import.meta.url` of the module that asks
 * @returns the module's address in this program
 */
export function moduleAt(source: `${string}.ts`, from: string): URL {
  return new URL(isBuilt ? source.replace(/\.ts$/, '.js') : source, from);
}

/** How an operator runs a command of this program, such as `migrate`. */
export function commandLine(command: string): string {
  return isBuilt ? `node dist/main.js ${command}` : `node --import ./platform/load.mjs main.ts ${command}`;
}
