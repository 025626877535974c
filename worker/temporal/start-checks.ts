/** Checks, before a worker starts, whether the Temporal server and its namespace can be used. */
import type { Connection } from '@temporalio/client';
import { commandLine } from '../../platform/core/modules.ts';
import { StartProblem, StartProblems } from '../../platform/core/start-problem.ts';
import type { TemporalSettings } from '../../platform/infra/temporal-settings.ts';
import { codeOf, missingAttributes } from './namespace.ts';
import { connectCommand } from './connection.ts';
import { cannotBeUsed, isRefusal, unseenNamespace } from './reach.ts';

/** The oldest server version on which all features that this service uses were tested. */
const oldestServer = [1, 29, 1] as const;

const notFound = 5;

/** @returns a sentence for each problem, which tells an operator what to do */
export async function engineMistakes(settings: TemporalSettings): Promise<string[]> {
  /** If a check throws, turns the error into problems, so that the other check still runs. */
  const problemsOf = (error: unknown): string[] => {
    if (error instanceof StartProblems) return [...error.problems];
    return [error instanceof StartProblem ? error.message : cannotBeUsed(settings.address, error)];
  };
  try {
    const connection = await connectCommand(settings);
    try {
      const checks = await Promise.all([
        versionMistakes(connection).catch(problemsOf),
        namespaceMistakes(connection, settings.namespace).catch(problemsOf),
      ]);
      return [...new Set(checks.flat())];
    } finally {
      await connection.close();
    }
  } catch (error) {
    return problemsOf(error);
  }
}

/** @returns a sentence if the server is too old; nothing if its version has an unknown format */
async function versionMistakes({ workflowService }: Pick<Connection, 'workflowService'>): Promise<string[]> {
  const { serverVersion } = await workflowService.getSystemInfo({});
  return isTooOld(serverVersion)
    ? [
        `The Temporal server is ${serverVersion}. This service needs ${oldestServer.join('.')} or later: upgrade the server, one minor version after another.`,
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

/** @returns a sentence if the namespace or one of its search attributes is missing or not visible to this service */
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
          `The namespace ${namespace} has no search attribute ${missing.join(', ')}: run "${commandLine('setup')}", which creates them or prints the commands for an operator.`,
        ];
  } catch (error) {
    if (isRefusal(error)) return [unseenNamespace(namespace, error)];
    if (codeOf(error) !== notFound) throw error;
    return [`Temporal has no namespace ${namespace}: run "${commandLine('setup')}", or set TEMPORAL_NAMESPACE.`];
  }
}
