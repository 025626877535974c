/** Where things are in the checkout. */
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const projectDirectory = fileURLToPath(new URL('..', import.meta.url));

/** The data of the development stack; `npm run reset` removes it. */
export const dataDirectory = path.join(projectDirectory, '.data', 'dev');

/** Flags with which Node runs our TypeScript files, from whatever directory. */
export const typescriptArguments = ['--import', new URL('../platform/load.mjs', import.meta.url).href];

/** Arguments with which Node runs one of them. */
export function scriptArguments(file: string): string[] {
  return [...typescriptArguments, path.join(projectDirectory, file)];
}
