/** Starts and signals workflows; ids, queues, attributes and summaries come from the table of workflow types. */
import { Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { defineSearchAttributeKey, type SearchAttributePair } from '@temporalio/common';
import type { NativeConnection } from '@temporalio/worker';
import { noClub } from '../platform/core/ids.ts';
import {
  searchAttributes,
  summaryOf,
  workflowIdOf,
  workflowTypes,
  type Run,
  type WorkflowAttributes,
} from '../platform/engine/workflow-types.ts';

export interface WorkflowClient {
  /** Starts a row's first run, in this process if it can; "already started" is success. */
  start(run: Run, extraArguments: readonly unknown[]): Promise<void>;
  /** Makes the row's run look again, and starts one if there is none. */
  signalWithStart(run: Run): Promise<void>;
  /**
   * The same, where there will mostly be none and it matters how soon it begins: starts a run in this process if it can. A run
   * that is there already is signaled, so that no wake is lost.
   */
  startOrSignal(run: Run): Promise<void>;
}

/** @param connection the workers' own: an eager start needs both on one connection */
export function createWorkflowClient(connection: NativeConnection, namespace: string): WorkflowClient {
  const { workflow } = new Client({ connection, namespace });
  /** @returns whether there was none */
  async function startFirst(run: Run, extraArguments: readonly unknown[]): Promise<boolean> {
    try {
      await workflow.start(run.workflowType, {
        ...optionsOf(run),
        args: [run.subjectId, ...extraArguments],
        requestEagerStart: true,
      });
      return true;
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      return false;
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
  return {
    async start(run, extraArguments) {
      await startFirst(run, extraArguments);
    },
    signalWithStart,
    async startOrSignal(run) {
      if (!(await startFirst(run, []))) await signalWithStart(run);
    },
  };
}

function optionsOf({ workflowType, subjectId, clubId, attributes }: Run) {
  return {
    workflowId: workflowIdOf(workflowType, subjectId),
    taskQueue: workflowTypes[workflowType].taskQueue,
    typedSearchAttributes: attributePairs(attributes),
    staticSummary: summaryOf({ workflowType, attributes }),
    // One club's backlog must not make another wait (ENG-9).
    ...(clubId !== null && clubId !== noClub && { priority: { fairnessKey: clubId } }),
  };
}

function attributePairs(attributes: WorkflowAttributes): SearchAttributePair[] {
  return searchAttributes.flatMap((name) => {
    const value = attributes[name];
    return value === undefined ? [] : [{ key: defineSearchAttributeKey(name, 'KEYWORD'), value }];
  });
}
