/**
 * The rules of a generated answer (ANS-1, ANS-6): how often the service calls the model, how long a call may take, and with which status
 * the answer ends.
 */
import type { AnswerStatus } from '../../../entities/agents/values.ts';
import type { FailureKind } from '../../../platform/infra/model/failures.policy.ts';
import type { AnswerError } from '../agents.policy.ts';

const second = 1_000;

export const answerRules = {
  /** If the stream of an answer has not begun after this time, the answer fails, even if the model was never called. */
  beginWithinMs: 120 * second,
  /** The maximum number of requests to the model. */
  calls: 3,
  /** The pauses before the second and the third request to the model. */
  waitsMs: [1 * second, 4 * second],
  /**
   * The length of the lease of a worker that calls the model, measured by the database's clock. The worker renews the lease. When the lease
   * of a dead worker has ended, another worker can claim the answer.
   */
  leaseMs: 20 * second,
  /** The longest time for which a stream may send nothing, not even a ping. */
  silenceMs: 60 * second,
  /** The longest time for which a stream may send only pings. The model may think during this time. */
  pingsMs: 180 * second,
  /** The longest duration of a request. It is shorter than the activity's timeout, so that a slow answer is ended and not repeated. */
  requestMs: 13 * 60 * second,
  /** The time for which the log of an ended answer is stored for readers who reattach by position. */
  logMs: 3_600 * second,
} as const;

/** The error code of an answer, if its last call failed before its stream began. */
export const errorsBeforeBegin = {
  unavailable: 'model_unavailable',
  overloaded: 'model_overloaded',
  rejected: 'model_rejected',
  silent: 'model_unavailable',
} as const satisfies Record<FailureKind, AnswerError>;

/** Returns the error code of an answer whose stream broke off with the given error. */
export function errorAfterBegin(kind: FailureKind): AnswerError {
  return kind === 'silent' ? 'model_silent' : 'interrupted';
}

type End = { status: Exclude<AnswerStatus, 'generating'>; errorCode?: AnswerError };

const ends: ReadonlyMap<string | null, End> = new Map([
  ['end_turn', { status: 'complete' }],
  ['stop_sequence', { status: 'complete' }],
  ['max_tokens', { status: 'truncated' }],
  ['model_context_window_exceeded', { status: 'truncated' }],
  ['refusal', { status: 'refused' }],
]);

/** @returns the status and error code for the model's stop reason. An unknown stop reason means a failed answer */
export function endOf(stopReason: string | null): End {
  return ends.get(stopReason) ?? { status: 'failed', errorCode: 'internal_error' };
}

/**
 * Computes the time of the next request, after a call that failed before its stream began.
 * @param call the number of the failed call, from 1
 * @param acceptedAt Unix milliseconds, like `now`
 * @param retryAfterMs the wait that the model's service asked for; it can only make the pause longer
 * @returns Unix milliseconds; undefined if no further request may be made
 */
export function nextCallAt(call: number, acceptedAt: number, now: number, retryAfterMs = 0): number | undefined {
  const wait = answerRules.waitsMs[call - 1] ?? Infinity;
  const at = now + Math.max(wait, retryAfterMs);
  return at < acceptedAt + answerRules.beginWithinMs ? at : undefined;
}

/** Fewer characters per token than in usual prose, because an estimate of tokens must not be too small. */
const charactersAToken = 3;

/** @returns the estimated number of tokens of an answer, if the model has not reported the number */
export function estimatedTokens(characters: number): number {
  return Math.ceil(characters / charactersAToken);
}
