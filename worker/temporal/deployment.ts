/**
 * The workers of a build are one version of a Worker Deployment (ADR 41). Temporal gives tasks only to the current version, which the
 * command `promote` sets. A running workflow moves to the workers of the current version when its next task is due.
 */
import type { WorkerDeploymentOptions } from '@temporalio/worker';
import type { Build } from '../../platform/infra/build.ts';

/** The deployment of all workers in a namespace. */
export const deploymentName = 'club-learning';

/** @param build the running build; undefined in a checkout, whose workers have no version */
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
