/** Starts and signals workflows. Their ids, queues, attributes and summaries come from the table of workflow types. */
import { Client, isGrpcServiceError, ServiceError, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { defineSearchAttributeKey, type SearchAttributePair } from '@temporalio/common';
import type { NativeConnection } from '@temporalio/worker';
import { noClub } from '../../platform/core/ids.ts';
import { inSpan, type SpanOptions } from '../../platform/infra/tracing.ts';
import type { Priority } from '../../entities/facts/values.ts';
import {
  priorityOf,
  searchAttributes,
  summaryOf,
  workflowIdOf,
  taskQueueOf,
  type Run,
  type WorkflowAttributes,
} from '../../platform/engine/workflow-types.ts';
import { startsInTraces } from '../activities/activity-traces.ts';

/**
 * The result of a start. `here`: this process executes the first task of the run immediately. `elsewhere`: the first task goes through the
 * task queue. `before`: the run already existed.
 */
type Started = 'here' | 'elsewhere' | 'before';

export interface WorkflowClient {
  /** Starts the first run of a row. If the run was started before, this is no error. */
  start(run: Run, extraArguments: readonly unknown[]): Promise<Started>;
  /** Signals the run of a row, so that the run reads its row again. If the row has no run, this call starts one. */
  signalWithStart(run: Run): Promise<void>;
  /**
   * Has the same effect as `signalWithStart`. Use it for rows that usually have no run yet, and whose result a person waits for. The run
   * starts
   * in this process if possible. An existing run gets a signal, so that no wake is lost.
   */
  startOrSignal(run: Run): Promise<void>;
}

/**
 * A call without an answer fails after this time, in milliseconds, and the relay repeats it, because the server may have died. A cluster
 * moves the work of a dead node to other nodes within 7 s. Without this limit the SDK would wait for 30 s.
 */
const withinMs = 10_000;

/** @param connection the connection of the workers, because an eager start needs the client and the worker on one connection */
export function createWorkflowClient(
  connection: NativeConnection,
  namespace: string,
  { callWithinMs = withinMs }: { callWithinMs?: number } = {},
): WorkflowClient {
  const { workflow } = new Client({ connection, namespace, interceptors: { workflow: [startsInTraces] } });
  async function start(run: Run, extraArguments: readonly unknown[]): Promise<Started> {
    try {
      const { eagerlyStarted } = await workflow.start(run.workflowType, {
        ...optionsOf(run),
        args: [run.subjectId, ...extraArguments],
        requestEagerStart: true,
      });
      return eagerlyStarted ? 'here' : 'elsewhere';
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      return 'before';
    }
  }
  async function signalWithStart(run: Run): Promise<void> {
    await workflow.signalWithStart(run.workflowType, {
      ...optionsOf(run),
      args: [run.subjectId],
      signal: 'lookAgain',
      signalArgs: [],
    });
  }
  const inSpanOf = <T>(run: Run, work: () => Promise<T>) =>
    inSpan(`start ${run.workflowType}`, spanOf(run), () => connection.withDeadline(Date.now() + callWithinMs, work));
  return {
    start: (run, extraArguments) => inSpanOf(run, () => start(run, extraArguments)),
    signalWithStart: (run) => inSpanOf(run, () => signalWithStart(run)),
    startOrSignal: (run) =>
      inSpanOf(run, async () => {
        if ((await start(run, [])) === 'before') await signalWithStart(run);
      }),
  };
}

/**
 * gRPC codes of errors whose cause is the server and not the request: canceled, deadline exceeded, resource exhausted, aborted,
 * unavailable.
 */
const awayCodes: ReadonlySet<number> = new Set([1, 4, 8, 10, 14]);

/** @returns true if Temporal is unavailable or overloaded; false if the run itself may be the cause of the error */
export function isEngineAway(error: unknown): boolean {
  const cause = error instanceof ServiceError ? error.cause : error;
  return isGrpcServiceError(cause) && awayCodes.has(cause.code);
}

/** Maps our priorities to the priorities of Temporal, which go from 1 to 5 with the default 3. */
const priorityKeys = { 0: 1, 1: 3, 2: 5 } as const satisfies Record<Priority, number>;

function spanOf({ workflowType, subjectId }: Run): SpanOptions {
  const workflowId = workflowIdOf(workflowType, subjectId);
  return { kind: 'producer', attributes: { 'club.workflow.type': workflowType, 'club.workflow.id': workflowId } };
}

function optionsOf(run: Run) {
  const { workflowType, subjectId, clubId, attributes } = run;
  return {
    workflowId: workflowIdOf(workflowType, subjectId),
    taskQueue: taskQueueOf(run),
    typedSearchAttributes: attributePairs(attributes),
    staticSummary: summaryOf({ workflowType, attributes }),
    priority: {
      priorityKey: priorityKeys[priorityOf(run)],
      // Each club has a fairness key of its own, so that the backlog of one club does not delay the others (ENG-9).
      ...(clubId !== null && clubId !== noClub && { fairnessKey: clubId }),
    },
  };
}

function attributePairs(attributes: WorkflowAttributes): SearchAttributePair[] {
  return searchAttributes.flatMap((name) => {
    const value = attributes[name];
    return value === undefined ? [] : [{ key: defineSearchAttributeKey(name, 'KEYWORD'), value }];
  });
}
