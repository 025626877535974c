/** The step of an answer: claim a call, ask the model, write the text, end the answer (ENG-2, ANS-1). */
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
  /** Absent where none is prepared while its run starts. */
  promptsAhead?: PromptsAhead;
  /** Absent where no model is configured. */
  askModel: AskModel | undefined;
  log: DeltaLog;
  /** Tells the API's processes that answers have ended; after the commit. */
  notify: (answerIds: readonly Id[]) => void;
  /** Called once with how an answer ended. */
  onEnd: (report: AnswerReport) => void;
  /** Called when the first words of an answer stand in the log: milliseconds since its question was accepted. */
  onFirstWords: (ms: number) => void;
  logger: Logger;
  /** A place where tests stop the process. */
  failpoint: (name: AnswerFailpoint) => Promise<void>;
}
export type AnswerFailpoint = 'answer_claimed' | 'answer_called' | 'answer_begun' | 'answer_ending' | 'answer_ended';

/** How the answer ended; or when to look again, in Unix milliseconds, and what for. */
export type AnswerStep =
  | { done: true; outcome: AnswerReport | { status: 'gone' } }
  | { done: false; at: number; waitingFor: 'call' | 'lease'; call: number };

/**
 * Takes the answer one step further. Asks the model at most once, and never an answer whose stream has begun.
 * @param now Unix milliseconds
 * @param signal the worker stops: what is under way ends, as well as it can
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
    // Whoever has the lease may still hear from the model what the call cost.
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

/** The call failed before its stream began: it is recorded, and another is made in a while, or none. */
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
    // A refused request will be refused again: somebody must look at the key, the model's name or the prompt.
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

/** @param byUs this step has ended it: the readers that wait for it are notified, and it is counted */
async function ended(deps: AnswerDeps, { id }: AnswerRow, byUs: boolean): Promise<AnswerStep> {
  if (byUs) deps.notify([id]);
  const report = await reportOn(deps.db, id);
  if (!report) return { done: true, outcome: { status: 'gone' } };
  if (report.status === 'generating') return { done: false, at: 0, waitingFor: 'lease', call: report.calls };
  if (byUs) deps.onEnd(report);
  return { done: true, outcome: report };
}
