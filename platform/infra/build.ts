/** Reads the description of the running build that `npm run build` wrote. */
import { readFileSync } from 'node:fs';
import { isBuilt } from '../core/modules.ts';

export interface Build {
  readonly version: string;
  /** Two builds of one commit have the same id. */
  readonly buildId: string;
}

/** A checkout has no build: undefined. */
export const build: Build | undefined = isBuilt
  ? (JSON.parse(readFileSync(new URL('../../build.json', import.meta.url), 'utf8')) as Build)
  : undefined;
