/** The rules of an answer's run: how often and how long to ask the model, and what each end means (ANS-1, ANS-6). */
import type { AnswerStatus } from '../../../entities/agents/values.ts';
import type { FailureKind } from '../../../platform/infra/model/failures.policy.ts';
import type { AnswerError } from '../agents.policy.ts';

const second = 1_000;

export const answerRules = {
  /** An answer whose stream has not begun by then fails, unasked if need be. */
  beginWithinMs: 120 * second,
  /** Requests to the model, at most. */
  calls: 3,
  /** Before the second and the third request; none before a fourth, so none is made. */
  waitsMs: [1 * second, 4 * second],
  /** Who asks has the answer to itself for so long, and renews it; a dead worker's is free after it. By the database's clock. */
  leaseMs: 20 * second,
  /** Of a stream from which not even a ping comes. */
  silenceMs: 60 * second,
  /** Of a stream from which nothing comes but pings: the connection lives, and the model may be thinking; not for ever. */
  pingsMs: 180 * second,
  /** A request altogether. Below the time limit of the activity, so that the answer is ended and not repeated. */
  requestMs: 13 * 60 * second,
  /** How long the log of an answer that has ended is kept for those who reattach by position. */
  logMs: 3_600 * second,
} as const;

/** What an answer fails with if the last of its calls has failed like this before its stream began. */
export const errorsBeforeBegin = {
  unavailable: 'model_unavailable',
  overloaded: 'model_overloaded',
  rejected: 'model_rejected',
  silent: 'model_unavailable',
} as const satisfies Record<FailureKind, AnswerError>;

/** What an answer fails with whose stream ends like this before its end. */
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

/** @returns what the answer is by the model's own word, and an error code where that is no end that we know */
export function endOf(stopReason: string | null): End {
  return ends.get(stopReason) ?? { status: 'failed', errorCode: 'internal_error' };
}

/**
 * When the next request is due after one that failed before its stream began.
 * @param call the number of the failed one, from 1
 * @param acceptedAt Unix milliseconds, like `now`
 * @param retryAfterMs what the model's service asked for: lengthens the wait, never shortens it
 * @returns Unix milliseconds; undefined where no further request is to be made
 */
export function nextCallAt(call: number, acceptedAt: number, now: number, retryAfterMs = 0): number | undefined {
  const wait = answerRules.waitsMs[call - 1] ?? Infinity;
  const at = now + Math.max(wait, retryAfterMs);
  return at < acceptedAt + answerRules.beginWithinMs ? at : undefined;
}

/** Characters a token, on the low side of what models make of prose: an estimate must not be too small. */
const charactersAToken = 3;

/** @returns tokens, where the model did not come to count them */
export function estimatedTokens(characters: number): number {
  return Math.ceil(characters / charactersAToken);
}
