/** The activity of `agent-answer/<question id>`. */
import { cancellationSignal } from '@temporalio/activity';
import { CancelledFailure } from '@temporalio/common';
import { stepAnswer, type AnswerDeps } from '../domain/agents/answers/answer-step.ts';
import { heartbeating, timeOfStep } from './step.ts';

/** The interval is so short that one lost heartbeat causes no heartbeat timeout. */
const heartbeatEveryMs = 3_000;

export function agentAnswerActivities(deps: AnswerDeps) {
  return {
    /** Advances the answer by one step, which may stream for minutes. @param now the workflow's time in Unix milliseconds */
    generateAnswer: (questionId: string, now: number) =>
      heartbeating(() => stepAnswer(deps, questionId, timeOfStep(now), stopOfWorker()), heartbeatEveryMs),
  };
}

/**
 * The signal aborts only when the worker stops. Temporal may cancel an activity that it wrongly considers dead, while the model still
 * answers. That answer continues, and the lease prevents a second call to the model.
 */
function stopOfWorker(): AbortSignal {
  const canceled = cancellationSignal();
  const stop = new AbortController();
  const look = () => {
    if (canceled.reason instanceof CancelledFailure && canceled.reason.message === 'WORKER_SHUTDOWN') stop.abort();
  };
  if (canceled.aborted) look();
  else canceled.addEventListener('abort', look, { once: true });
  return stop.signal;
}
