/**
 * The workflows in one file, as Temporal's sandbox loads them. To make the bundle takes seconds, so it is made once and
 * many workers load it by its path: a release ships it, and a test run makes one for all its workers.
 */
import { rename, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, type Logger } from '@temporalio/worker';

/**
 * Bundles `workflows/index.ts` and everything that it imports.
 * @param file where the bundle is written; a reader never sees half of it
 * @throws Error when a workflow does not compile, or imports what workflows may not
 */
export async function writeWorkflowBundle(file: string, logger: Logger): Promise<void> {
  const { code } = await bundleWorkflowCode({ logger, workflowsPath });
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, code);
  await rename(draft, file);
}

const workflowsPath = fileURLToPath(new URL('../workflows/index.ts', import.meta.url));

/** @param file a bundle of {@link writeWorkflowBundle}; absent, one is made in memory, which takes seconds */
export async function workflowBundle(
  file: string | undefined,
  logger: Logger,
): Promise<{ codePath: string } | { code: string }> {
  return file === undefined ? bundleWorkflowCode({ logger, workflowsPath }) : { codePath: file };
}
