/** Reads the description of the running build that `npm run build` wrote. */
import { readFileSync } from 'node:fs';
import { isBuilt } from '../core/modules.ts';

export interface Build {
  /** The version in package.json. */
  readonly version: string;
  /** Two builds of one commit have the same id. The id differs if any file or dependency differs. */
  readonly buildId: string;
}

/** The description of the running build; undefined in a checkout. */
export const build: Build | undefined = isBuilt
  ? (JSON.parse(readFileSync(new URL('../../build.json', import.meta.url), 'utf8')) as Build)
  : undefined;
