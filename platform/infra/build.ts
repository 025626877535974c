/** What `npm run build` wrote down of the artifact that runs. */
import { readFileSync } from 'node:fs';
import { isBuilt } from '../core/modules.ts';

export interface Build {
  /** Of package.json. */
  readonly version: string;
  /** The same for two builds of one commit, and another one wherever a file or a dependency differs. */
  readonly buildId: string;
}

/** Undefined in a checkout. */
export const build: Build | undefined = isBuilt
  ? (JSON.parse(readFileSync(new URL('../../build.json', import.meta.url), 'utf8')) as Build)
  : undefined;
