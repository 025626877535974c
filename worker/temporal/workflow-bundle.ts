/**
 * Bundles the workflows into one file, which Temporal's sandbox loads. Bundling takes seconds. So a release contains a ready bundle, and a
 * test run makes one bundle for all workers of the test run.
 */
import { rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, type BundleOptions, type Logger } from '@temporalio/worker';
import { isBuilt, moduleAt } from '../../platform/core/modules.ts';

const workflowsPath = fileURLToPath(moduleAt('../../workflows/index.ts', import.meta.url));
/** The interceptors of workflows. They must be in the bundle, because a worker with a bundle ignores interceptors outside it. */
const workflowInterceptorModules = [fileURLToPath(moduleAt('../../workflows/traces.ts', import.meta.url))];

const bundled = { workflowsPath, workflowInterceptorModules };

/** The path at which `npm run build` writes the bundle of the artifact. */
const builtBundle = fileURLToPath(new URL('../../workflow-bundle.js', import.meta.url));

/**
 * Bundles `workflows/index.ts` and everything that it imports. The same sources give the same bytes in every directory.
 * @param file the path of the bundle; a reader never sees a partial file
 * @throws Error if a workflow does not compile or has a forbidden import
 */
export async function writeWorkflowBundle(file: string, logger: Logger): Promise<void> {
  const { code } = await bundleWorkflowCode({ ...bundled, logger, webpackConfigHook: mapLines });
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, withoutPaths(code));
  await rename(draft, file);
}

/**
 * @param file a bundle that {@link writeWorkflowBundle} wrote. If absent, a built artifact uses its own bundle, and a checkout makes a
 * bundle in memory, which takes seconds
 */
export async function workflowBundle(
  file: string | undefined,
  logger: Logger,
): Promise<{ codePath: string } | { code: string }> {
  if (file !== undefined) return { codePath: file };
  return isBuilt ? { codePath: builtBundle } : bundleWorkflowCode({ ...bundled, logger });
}

/**
 * Makes a source map without columns. The columns would depend on the length of the project's path, but the bundle must be the same in
 * every directory.
 */
const mapLines: NonNullable<BundleOptions['webpackConfigHook']> = (settings) => ({
  ...settings,
  devtool: 'inline-cheap-module-source-map',
});

/** Matches the source map at the end of the bundle. */
const beforeMap = /(?<=\n\/\/# sourceMappingURL=data:application\/json;charset=utf-8;base64,)\S+\s*$/;

/**
 * Removes the project's path from the source map. The path occurs in the names of the sources and in a hash.
 * @throws Error if the bundle has no source map
 */
function withoutPaths(code: string): string {
  const root = path.dirname(path.dirname(workflowsPath));
  const [encoded] = beforeMap.exec(code) ?? [];
  if (encoded === undefined) throw new Error('The bundle of the workflows does not end with a source map.');
  const map = JSON.parse(Buffer.from(encoded, 'base64').toString().replaceAll(`${root}${path.sep}`, '')) as object;
  const portable = JSON.stringify({ ...map, file: 'workflow-bundle.js' });
  return code.replace(beforeMap, () => Buffer.from(portable).toString('base64'));
}
