/** What must be right of Temporal for a worker to start. */
import type { Connection } from '@temporalio/client';
import { commandLine } from '../../platform/core/modules.ts';
import { StartProblem, StartProblems } from '../../platform/core/start-problem.ts';
import type { TemporalSettings } from '../../platform/infra/temporal-settings.ts';
import { codeOf, missingAttributes } from './namespace.ts';
import { connectCommand } from './connection.ts';
import { cannotBeUsed, isRefusal, unseenNamespace } from './reach.ts';

/** The first server on which all that this service asks of it was seen to work. */
const oldestServer = [1, 29, 1] as const;

const notFound = 5;

/** @returns a sentence for each mistake, which says what to do */
export async function engineMistakes(settings: TemporalSettings): Promise<string[]> {
  /** A check that cannot be made says why, and does not keep the other from being made. */
  const told = (error: unknown): string[] => {
    if (error instanceof StartProblems) return [...error.problems];
    return [error instanceof StartProblem ? error.message : cannotBeUsed(settings.address, error)];
  };
  try {
    const connection = await connectCommand(settings);
    try {
      const checks = await Promise.all([
        versionMistakes(connection).catch(told),
        namespaceMistakes(connection, settings.namespace).catch(told),
      ]);
      return [...new Set(checks.flat())];
    } finally {
      await connection.close();
    }
  } catch (error) {
    return told(error);
  }
}

/** @returns a sentence where the server is too old; nothing where it does not tell its version as others do */
async function versionMistakes({ workflowService }: Pick<Connection, 'workflowService'>): Promise<string[]> {
  const { serverVersion } = await workflowService.getSystemInfo({});
  return isTooOld(serverVersion)
    ? [
        `The Temporal server is ${serverVersion}; ${oldestServer.join('.')} or later is needed: upgrade it, one minor version after another.`,
      ]
    : [];
}

function isTooOld(version: string): boolean {
  const parts = /^(\d+)\.(\d+)\.(\d+)/.exec(version)?.slice(1).map(Number) ?? [];
  const [different = -1] = oldestServer
    .map((part, index) => (parts[index] ?? part) - part)
    .filter((by) => by !== 0)
    .concat(0);
  return parts.length > 0 && different < 0;
}

/** @returns a sentence where the namespace, or a search attribute of it, is not there, or not ours to see */
async function namespaceMistakes(
  connection: Pick<Connection, 'workflowService' | 'operatorService'>,
  namespace: string,
): Promise<string[]> {
  try {
    await connection.workflowService.describeNamespace({ namespace });
    const missing = await missingAttributes(connection, namespace);
    return missing.length === 0
      ? []
      : [
          `The namespace ${namespace} has no search attribute ${missing.join(', ')}: run "${commandLine('setup')}", which creates them, or says who must.`,
        ];
  } catch (error) {
    if (isRefusal(error)) return [unseenNamespace(namespace, error)];
    if (codeOf(error) !== notFound) throw error;
    return [`Temporal has no namespace ${namespace}: run "${commandLine('setup')}", or set TEMPORAL_NAMESPACE.`];
  }
}
