/** The end of a report: counts by status, operations that never succeeded, and the summary. */
import type { OperationId } from '../../../contract/contract.ts';
import { everyOperation } from '../../toolkit/drive/every-operation.ts';
import type { Tally } from './fuzzing.ts';

export function linesOf(tally: Tally, seed: number): string[] {
  const called = everyOperation.filter(({ operationId }) => tally.byOperation.has(operationId));
  const never = neverSucceeded(tally);
  return [
    '',
    `answers by status: ${inOrder(tally.byStatus)}`,
    never.length === 0
      ? 'every operation was answered with 2xx at least once'
      : `${never.length} operations were never answered with 2xx:`,
    ...never.map((operationId) => `  ${operationId}: ${inOrder(tally.byOperation.get(operationId) ?? new Map())}`),
    ...(tally.repeated > 0 ? [`more failures of the kinds above: ${tally.repeated}`] : []),
    ...(tally.longestHold ? [`the request that blocked the thread longest: ${tally.longestHold.curl}`] : []),
    `seed ${seed}`,
    `requests ${tally.requests}, operations ${called.length} of ${everyOperation.length}, failures ${tally.failures.length}, longest hold ms ${holdOf(tally)}`,
  ];
}

function holdOf({ longestHold }: Tally): string {
  return longestHold ? `${longestHold.ms.toFixed(0)} (operation ${longestHold.operation})` : 'unknown';
}

/** Lists operations that were called and never succeeded, because the run hardly tested them. */
export function neverSucceeded({ byOperation }: Tally): OperationId[] {
  const succeeded = (operationId: OperationId) =>
    [...(byOperation.get(operationId)?.keys() ?? [])].some((status) => status >= 200 && status < 400);
  return everyOperation.map(({ operationId }) => operationId).filter((id) => byOperation.has(id) && !succeeded(id));
}

function inOrder(byStatus: ReadonlyMap<number, number>): string {
  const statuses = [...byStatus].toSorted(([left], [right]) => left - right);
  return statuses.map(([status, count]) => `${status === 0 ? 'none' : status} ${count}`).join(', ');
}
