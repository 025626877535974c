/**
 * The workflows in one file, as Temporal's sandbox loads them. To make the bundle takes seconds, so it is made once and
 * many workers load it by its path: a release ships it, and a test run makes one for all its workers.
 */
import { rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, type BundleOptions, type Logger } from '@temporalio/worker';
import { isBuilt, moduleAt } from '../../platform/core/modules.ts';

const workflowsPath = fileURLToPath(moduleAt('../../workflows/index.ts', import.meta.url));
/** What a worker would name beside a bundle, it would ignore. */
const workflowInterceptorModules = [fileURLToPath(moduleAt('../../workflows/traces.ts', import.meta.url))];

const bundled = { workflowsPath, workflowInterceptorModules };

/** Where `npm run build` puts the bundle of the artifact. */
const builtBundle = fileURLToPath(new URL('../../workflow-bundle.js', import.meta.url));

/**
 * Bundles `workflows/index.ts` and everything that it imports. The same sources give the same bytes, wherever they lie.
 * @param file where the bundle is written; a reader never sees half of it
 * @throws Error when a workflow does not compile, or imports what workflows may not
 */
export async function writeWorkflowBundle(file: string, logger: Logger): Promise<void> {
  const { code } = await bundleWorkflowCode({ ...bundled, logger, webpackConfigHook: mapLines });
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, withoutPlaces(code));
  await rename(draft, file);
}

/**
 * @param file a bundle of {@link writeWorkflowBundle}; absent, the artifact's own. In a checkout one is made in memory then, which
 *   takes seconds
 */
export async function workflowBundle(
  file: string | undefined,
  logger: Logger,
): Promise<{ codePath: string } | { code: string }> {
  if (file !== undefined) return { codePath: file };
  return isBuilt ? { codePath: builtBundle } : bundleWorkflowCode({ ...bundled, logger });
}

/** A map of columns would tell how long the path of the project is. */
const mapLines: NonNullable<BundleOptions['webpackConfigHook']> = (settings) => ({
  ...settings,
  devtool: 'inline-cheap-module-source-map',
});

/** Up to the source map, which the bundle ends with. */
const beforeMap = /(?<=\n\/\/# sourceMappingURL=data:application\/json;charset=utf-8;base64,)\S+\s*$/;

/** The map names the sources by where they lie, and so does the first of them; the bundle has a hash of that. @throws Error where there is no map */
function withoutPlaces(code: string): string {
  const root = path.dirname(path.dirname(workflowsPath));
  const [encoded] = beforeMap.exec(code) ?? [];
  if (encoded === undefined) throw new Error('The bundle of the workflows does not end with a source map.');
  const map = JSON.parse(Buffer.from(encoded, 'base64').toString().replaceAll(`${root}${path.sep}`, '')) as object;
  const portable = JSON.stringify({ ...map, file: 'workflow-bundle.js' });
  return code.replace(beforeMap, () => Buffer.from(portable).toString('base64'));
}
