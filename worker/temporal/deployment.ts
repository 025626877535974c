/**
 * The workers of a build are a version of one Worker Deployment (ADR 41). Temporal gives tasks to the current version alone; the
 * command `promote` says which that is. What runs moves over with its next task.
 */
import type { WorkerDeploymentOptions } from '@temporalio/worker';
import type { Build } from '../../platform/infra/build.ts';

/** Of all workers in a namespace. */
export const deploymentName = 'club-learning';

/** @param build undefined in a checkout, whose workers have no version @returns options of a Temporal worker */
export function deploymentOptions(
  build: Build | undefined,
): Record<string, never> | { workerDeploymentOptions: WorkerDeploymentOptions } {
  if (!build) return {};
  return {
    workerDeploymentOptions: {
      version: { deploymentName, buildId: build.buildId },
      useWorkerVersioning: true,
      defaultVersioningBehavior: 'AUTO_UPGRADE',
    },
  };
}
