/** The step of an answer: it claims a call, calls the model, writes the text and ends the answer (ENG-2, ANS-1). */
import type { Logger } from 'pino';
import type { Database } from '../../../platform/infra/postgres/database.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { AnswerError } from '../agents.policy.ts';
import { endInterrupted, failUnbegun, nothingStreamed, settleEnded } from './answer-end.ts';
import {
  claimCall,
  endUnbegunCall,
  releaseAnswer,
  readAnswerState,
  reportOn,
  type AnswerReport,
  type AnswerRow,
} from './answer-rows.ts';
import { readStream, type StreamDeps } from './answer-stream.ts';
import { answerRules, errorsBeforeBegin, estimatedTokens, nextCallAt } from './answers.policy.ts';
import type { DeltaLog } from './delta-log.ts';
import type { AskModel, ModelFailure } from '../../../platform/infra/model/model.ts';
import { costOf } from '../prompt/prices.policy.ts';
import { preparePrompt, type PromptDeps } from '../prompt/prompt.ts';
import type { PromptsAhead } from '../prompt/prompts-ahead.ts';

export interface AnswerDeps {
  db: Database;
  prompt: PromptDeps;
  /** Prompts that were prepared in advance. Absent if this process prepares none. */
  promptsAhead?: PromptsAhead;
  askModel: AskModel | undefined;
  log: DeltaLog;
  /** Notifies the API's processes that answers have ended. Called after the commit. */
  notify: (answerIds: readonly Id[]) => void;
  /** Receives a report of each answer that has ended, only once for each answer. */
  onEnd: (report: AnswerReport) => void;
  /**
   * The step calls this function when the log has the first words of an answer. The argument is the number of milliseconds since the
   * question was accepted.
   */
  onFirstWords: (ms: number) => void;
  logger: Logger;
  failpoint: (name: AnswerFailpoint) => Promise<void>;
}
export type AnswerFailpoint = 'answer_claimed' | 'answer_called' | 'answer_begun' | 'answer_ending' | 'answer_ended';

/** The outcome of an ended answer, or the time of the next step in Unix milliseconds with the reason for the wait. */
export type AnswerStep =
  | { done: true; outcome: AnswerReport | { status: 'gone' } }
  | { done: false; at: number; waitingFor: 'call' | 'lease'; call: number };

/**
 * Advances the answer by one step. A step calls the model at most once, and never after the answer's stream has begun.
 * @param now Unix milliseconds
 * @param signal a signal that is aborted when the worker stops. The step then ends as soon as possible
 */
export async function stepAnswer(
  deps: AnswerDeps,
  questionId: Id,
  now: number,
  signal: AbortSignal,
): Promise<AnswerStep> {
  const answer = await readAnswerState(deps.db, questionId);
  if (!answer) return { done: true, outcome: { status: 'gone' } };
  if (answer.status !== 'generating') {
    // The worker that holds the lease may still get the cost of the call from the model. So this step waits for the end of the lease.
    if (!answer.isSettled && answer.leaseMs > 0) return untilLeaseEnds(answer, now);
    if (!answer.isSettled) await settleEnded(deps.db, answer, nothingStreamed, new Date(now));
    return ended(deps, answer, false);
  }
  if (answer.leaseMs > 0) return untilLeaseEnds(answer, now);
  if (answer.begunAt) return ended(deps, answer, await endInterrupted(deps.db, answer, new Date(now)));
  const refusal = whyNotAsked(deps, answer, now);
  if (refusal) return fail(deps, answer, answer.callNo, refusal, now);
  if (answer.callNo > 0 && answer.looksAt.getTime() > now)
    return { done: false, at: answer.looksAt.getTime(), waitingFor: 'call', call: answer.callNo + 1 };
  return ask(deps, answer, now, signal);
}

function untilLeaseEnds({ leaseMs, callNo }: AnswerRow, now: number): AnswerStep {
  return { done: false, at: now + leaseMs, waitingFor: 'lease', call: Math.max(1, callNo) };
}

function whyNotAsked({ askModel }: AnswerDeps, answer: AnswerRow, now: number): AnswerError | undefined {
  const late = now >= answer.createdAt.getTime() + answerRules.beginWithinMs;
  if (late || answer.callNo >= answerRules.calls || !askModel) return answer.lastError ?? 'model_unavailable';
  return undefined;
}

async function ask(deps: AnswerDeps, answer: AnswerRow, now: number, signal: AbortSignal): Promise<AnswerStep> {
  const { db, askModel } = deps;
  if (!askModel) throw new Error('No model is configured');
  const started = performance.now();
  const clock = () => new Date(now + Math.round(performance.now() - started));
  const prompt = (await deps.promptsAhead?.take(answer)) ?? (await preparePrompt(deps.prompt, answer));
  const input = estimatedTokens(prompt.characters);
  const costMicros = costOf(answer.model, { input, output: 0, cacheWrite: 0, cacheRead: 0 }, clock());
  const callNo = await claimCall(db, answer, { inputTokens: input, costMicros }, clock());
  if (callNo === undefined) return { done: false, at: now, waitingFor: 'lease', call: answer.callNo + 1 };
  const log = deps.log.open(answer.id, callNo, () => deps.onFirstWords(clock().getTime() - answer.createdAt.getTime()));
  try {
    await deps.failpoint('answer_claimed');
    const streamDeps: StreamDeps = { ...deps, askModel };
    const outcome = await readStream(streamDeps, { answer, callNo, prompt, log, signal, clock });
    if (outcome.ended !== undefined) {
      await deps.failpoint('answer_ended');
      if (!outcome.ended) await settleEnded(db, { ...answer, callNo }, outcome.streamed, clock());
      return await ended(deps, answer, outcome.ended);
    }
    return await afterUnbegun(deps, answer, callNo, outcome.failure, clock().getTime());
  } finally {
    log.release();
  }
}

/** Records a call that failed before its stream began. Then releases the answer for the next call, or fails it. */
async function afterUnbegun(
  deps: AnswerDeps,
  answer: AnswerRow,
  callNo: number,
  failure: ModelFailure | 'stopped',
  now: number,
): Promise<AnswerStep> {
  const stopped = failure === 'stopped';
  const errorCode = stopped ? null : errorsBeforeBegin[failure.kind];
  if (!stopped) {
    // The model would refuse a repeated request, too. An operator must check the API key, the model's name or the prompt.
    const level = failure.kind === 'rejected' ? 'error' : 'warn';
    deps.logger[level]({ answerId: answer.id, call: callNo, code: failure.code }, 'the model did not begin to answer');
  }
  const call = {
    outcome: stopped || failure.kind === 'silent' ? ('abandoned' as const) : ('failed' as const),
    errorCode,
    requestId: stopped ? null : failure.requestId,
  };
  const acceptedAt = answer.createdAt.getTime();
  const at = stopped
    ? now
    : failure.kind === 'rejected'
      ? undefined
      : nextCallAt(callNo, acceptedAt, now, failure.retryAfterMs);
  const failed = await deps.db.transaction(async (tx) => {
    await endUnbegunCall(tx, answer, callNo, call, new Date(now));
    if (at === undefined)
      return failUnbegun(tx, { id: answer.id, callNo }, errorCode ?? 'model_unavailable', new Date(now));
    await releaseAnswer(tx, answer, callNo, new Date(at));
    return undefined;
  });
  if (failed === undefined) return { done: false, at: at ?? now, waitingFor: 'call', call: callNo + 1 };
  return ended(deps, answer, failed);
}

async function fail(
  deps: AnswerDeps,
  answer: AnswerRow,
  callNo: number,
  errorCode: AnswerError,
  now: number,
): Promise<AnswerStep> {
  const failed = await deps.db.transaction((tx) =>
    failUnbegun(tx, { id: answer.id, callNo }, errorCode, new Date(now)),
  );
  return ended(deps, answer, failed);
}

/** @param byUs true if this step has ended the answer. Then the waiting readers are notified */
async function ended(deps: AnswerDeps, { id }: AnswerRow, byUs: boolean): Promise<AnswerStep> {
  if (byUs) deps.notify([id]);
  const report = await reportOn(deps.db, id);
  if (!report) return { done: true, outcome: { status: 'gone' } };
  if (report.status === 'generating') return { done: false, at: 0, waitingFor: 'lease', call: report.calls };
  if (byUs) deps.onEnd(report);
  return { done: true, outcome: report };
}
