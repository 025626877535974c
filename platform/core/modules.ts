/** The files of this program: TypeScript in a checkout, JavaScript in the output of `npm run build`. */

/** Whether this code runs from the output of `npm run build`. */
export const isBuilt = import.meta.url.endsWith('.js');

/**
 * The compiler rewrites the paths in imports. If a thread or a bundler loads a module by its address, the compiler does not rewrite this
 * address. So such an address must come from this function.
 * @param source the path of the module's source, relative to `from`
 * @param from `import.meta.url` of the calling module
 * @returns the module's address in this program
 */
export function moduleAt(source: `${string}.ts`, from: string): URL {
  return new URL(isBuilt ? source.replace(/\.ts$/, '.js') : source, from);
}

/** @returns the command line with which an operator runs a command of this program, such as `migrate` */
export function commandLine(command: string): string {
  return isBuilt ? `node dist/main.js ${command}` : `node --import ./platform/load.mjs main.ts ${command}`;
}
