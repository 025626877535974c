/** The files of this program: TypeScript in a checkout, JavaScript in the output of `npm run build`. */

export const isBuilt = import.meta.url.endsWith('.js');

/**
 * The compiler rewrites imports, but not the address of a module that a thread or a bundler loads. Get such an address here.
 * @param source relative to `from`
 */
export function moduleAt(source: `${string}.ts`, from: string): URL {
  return new URL(isBuilt ? source.replace(/\.ts$/, '.js') : source, from);
}

export function commandLine(command: string): string {
  return isBuilt ? `node dist/main.js ${command}` : `node --import ./platform/load.mjs main.ts ${command}`;
}
