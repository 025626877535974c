/** Where things are in the checkout. */
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const projectDirectory = fileURLToPath(new URL('..', import.meta.url));

/** The data of the development stack; `npm run reset` removes it. */
export const dataDirectory = path.join(projectDirectory, '.data', 'dev');

/** Arguments with which Node runs one of our TypeScript files. */
export function scriptArguments(file: string): string[] {
  return ['--import', 'tsx', path.join(projectDirectory, file)];
}
