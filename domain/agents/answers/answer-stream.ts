/** Reads the model's stream, writes its text into the answer's log, and ends the answer. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Database } from '../../../platform/infra/postgres/database.ts';
import { describeError } from '../../../platform/infra/describe-error.ts';
import type { AnswerError } from '../agents.policy.ts';
import { endStreamed, type StreamResult, type StreamedText } from './answer-end.ts';
import { beginAnswer, type AnswerRow } from './answer-rows.ts';
import { answerRules, endOf, errorAfterBegin } from './answers.policy.ts';
import { citationsOf } from '../prompt/citations.policy.ts';
import { AnswerLost, type AnswerLog } from './delta-log.ts';
import { createAnswerText } from './delta-text.policy.ts';
import {
  ModelFailure,
  type AskModel,
  type ModelEvent,
  type ModelCitation,
  type TokenUse,
} from '../../../platform/infra/model/model.ts';
import type { Prompt } from '../prompt/prompt-blocks.policy.ts';

export interface StreamDeps {
  db: Database;
  askModel: AskModel;
  logger: Logger;
  failpoint: (name: 'answer_called' | 'answer_begun' | 'answer_ending') => Promise<void>;
}

export interface Call {
  answer: AnswerRow;
  callNo: number;
  prompt: Prompt;
  log: AnswerLog;
  signal: AbortSignal;
  clock: () => Date;
}

/** The pause before a failed statement is repeated. */
const tryAgainMs = 200;

export type StreamOutcome =
  /** The stream had begun, or another call owns the answer. `ended` is true if this call has ended the answer. */
  | { ended: boolean; streamed: StreamedText }
  /** The request failed before its stream began. */
  | { ended?: undefined; failure: ModelFailure | 'stopped' };

interface StreamState {
  begun: boolean;
  text: string[];
  cited: ModelCitation[];
  /** Undefined until the model reports it at the beginning of the stream. */
  use: TokenUse | undefined;
  stopReason: string | null;
  /** The model has reported the number of its output tokens. */
  isCounted: boolean;
  isWhole: boolean;
}

export async function readStream(deps: StreamDeps, call: Call): Promise<StreamOutcome> {
  const stream: StreamState = {
    begun: false,
    text: [],
    cited: [],
    use: undefined,
    stopReason: null,
    isCounted: false,
    isWhole: false,
  };
  const problem = await follow(deps, call, stream);
  const text = stream.text.join('');
  const { use, isCounted } = stream;
  const streamed: StreamedText = { text, ...(use && { use }), isCounted };
  if (problem instanceof AnswerLost) return { ended: false, streamed };
  if (!stream.begun || !use) {
    if (problem instanceof ModelFailure || problem === 'stopped') return { failure: problem };
    throw problem;
  }
  const end = endOfStream(deps, call, stream, problem);
  try {
    return { ended: await record(deps, call, { ...end, ...stream, use, text }), streamed };
  } catch (error) {
    if (error instanceof AnswerLost) return { ended: false, streamed };
    throw error;
  }
}

/** @returns the error that broke off the stream, or undefined if the stream ended normally */
async function follow(deps: StreamDeps, call: Call, stream: StreamState): Promise<unknown> {
  const { answer, log, prompt, signal, clock } = call;
  const cleaner = createAnswerText();
  const tooLate = new AbortController();
  const late = new ModelFailure('silent', 'not_begun_in_time');
  const remainingMs = answer.createdAt.getTime() + answerRules.beginWithinMs - clock().getTime();
  const untilBegun = setTimeout(() => tooLate.abort(late), remainingMs);
  const signals = AbortSignal.any([signal, log.lost, tooLate.signal]);
  const write = async (text: string) => {
    stream.text.push(text);
    await log.append(text);
  };
  try {
    for await (const event of deps.askModel(prompt.request, signals)) {
      if (event.type === 'begun') {
        clearTimeout(untilBegun);
        await begin(deps, call, stream, event);
      } else if (!stream.begun) throw new ModelFailure('unavailable', 'out_of_order');
      else if (event.type === 'text') await write(cleaner.push(event.text));
      else if (event.type === 'citation') stream.cited.push(event.citation);
      else if (event.type === 'stopped') {
        const use = stream.use && { ...stream.use, ...event.use };
        Object.assign(stream, { stopReason: event.reason, use, isCounted: true });
      } else stream.isWhole = true;
    }
    return stream.begun ? undefined : new ModelFailure('unavailable', 'nothing_came');
  } catch (error) {
    if (log.lost.aborted) return log.lost.reason;
    return signal.aborted ? 'stopped' : error;
  } finally {
    clearTimeout(untilBegun);
    const heldBack = cleaner.end();
    if (heldBack !== '') await write(heldBack).catch(() => {}); // if this write fails, the end of the answer writes the words
  }
}

async function begin(
  deps: StreamDeps,
  { answer, callNo, log, clock }: Call,
  stream: StreamState,
  event: Extract<ModelEvent, { type: 'begun' }>,
): Promise<void> {
  await deps.failpoint('answer_called');
  stream.use = event.use;
  const mine = await whileOurs(log, () => beginAnswer(deps.db, answer, callNo, event, clock()));
  if (!mine) throw new AnswerLost('The answer belongs to another call, or it has ended');
  stream.begun = true;
  await deps.failpoint('answer_begun');
}

function endOfStream(
  { logger }: StreamDeps,
  { answer, callNo }: Call,
  { stopReason, isWhole }: StreamState,
  problem: unknown,
): { status: StreamResult['status']; errorCode?: AnswerError | undefined } {
  if (isWhole && problem === undefined) return endOf(stopReason);
  const where = { answerId: answer.id, call: callNo };
  if (problem === 'stopped') return { status: 'failed', errorCode: 'interrupted' };
  if (problem instanceof ModelFailure) {
    logger.warn({ ...where, code: problem.code }, "the model's stream broke off");
    return { status: 'failed', errorCode: errorAfterBegin(problem.kind) };
  }
  logger.error({ ...where, error: describeError(problem) }, 'an answer could not be finished');
  return { status: 'failed', errorCode: 'internal_error' };
}

async function record(
  deps: StreamDeps,
  { answer, callNo, prompt, log, clock }: Call,
  stream: Omit<StreamState, 'text' | 'use'> & Pick<StreamResult, 'status' | 'errorCode' | 'text' | 'use'>,
): Promise<boolean> {
  const { citations, dropped } = citationsOf(stream.cited, prompt.sent);
  if (dropped > 0)
    deps.logger.warn({ answerId: answer.id, dropped }, 'the model cited passages that the prompt does not contain');
  const rest = await log.rest();
  await deps.failpoint('answer_ending');
  const { status, errorCode, text, use, isCounted } = stream;
  const { id: answerId, model, maxTokens } = answer;
  const end: StreamResult = {
    answerId,
    callNo,
    model,
    maxTokens,
    status,
    errorCode,
    text,
    rest,
    citations,
    use,
    isCut: !isCounted,
  };
  return whileOurs(log, () => endStreamed(deps.db, end, clock()));
}

/**
 * Repeats the write until it succeeds or another call owns the answer. The words of the model are expensive, so waiting for Postgres is
 * better than losing them.
 * @throws AnswerLost
 */
async function whileOurs<T>(log: AnswerLog, work: () => Promise<T>): Promise<T> {
  for (let waited = 0; ; waited += tryAgainMs) {
    try {
      return await work();
    } catch (error) {
      log.lost.throwIfAborted();
      if (waited > answerRules.leaseMs) throw error; // the lease was renewed, so Postgres is reachable, and a defect makes the write fail
      await sleep(tryAgainMs);
    }
  }
}
