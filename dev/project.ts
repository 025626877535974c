/** Paths in the checkout, and Node's flags for our files. */
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const projectDirectory = fileURLToPath(new URL('..', import.meta.url));

/** The data of the development stack; `npm run reset` removes them. */
export const dataDirectory = path.join(projectDirectory, '.data', 'dev');

/** These arguments let Node run our TypeScript files from any working directory. */
export const typescriptArguments = ['--import', new URL('../platform/load.mjs', import.meta.url).href];

export function scriptArguments(file: string): string[] {
  return [...typescriptArguments, path.join(projectDirectory, file)];
}
