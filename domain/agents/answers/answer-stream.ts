/** Listening to the model: its stream into the log, and the end into the row. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Database } from '../../../platform/infra/postgres/database.ts';
import { describeError } from '../../../platform/infra/describe-error.ts';
import type { AnswerError } from '../agents.policy.ts';
import { endHeard, type Heard, type Said } from './answer-end.ts';
import { beginAnswer, type AnswerRow } from './answer-rows.ts';
import { answerRules, endOf, errorAfterBegin } from './answers.policy.ts';
import { citationsOf } from '../prompt/citations.policy.ts';
import { AnswerLost, type AnswerLog } from './delta-log.ts';
import { createTextCleaner } from './delta-text.policy.ts';
import {
  ModelFailure,
  type AskModel,
  type ModelEvent,
  type ModelCitation,
  type TokenUse,
} from '../../../platform/infra/model/model.ts';
import type { Prompt } from '../prompt/prompt-blocks.policy.ts';

export interface HearingPlatform {
  database: Database;
  askModel: AskModel;
  logger: Logger;
  failpoint: (name: 'answer_called' | 'answer_begun' | 'answer_ending') => Promise<void>;
}

export interface Call {
  answer: AnswerRow;
  callNo: number;
  prompt: Prompt;
  log: AnswerLog;
  /** The worker stops. */
  signal: AbortSignal;
  clock: () => Date;
}

/** Before a statement is tried again that Postgres did not take, while the lease lasts. */
const tryAgainMs = 200;

export type Hearing =
  /** The stream had begun. `ended`: whether it was we who ended the answer. */
  | { ended: boolean; said: Said }
  /** It had not. */
  | { ended?: undefined; failure: ModelFailure | 'stopped' };

interface Listening {
  begun: boolean;
  text: string[];
  cited: ModelCitation[];
  use: TokenUse;
  stopReason: string | null;
  /** The model has counted what it brought out. */
  isCounted: boolean;
  isWhole: boolean;
}

/** Makes the request and follows its stream to the end, whatever end that is. */
export async function hearAnswer(platform: HearingPlatform, call: Call): Promise<Hearing> {
  const heard: Listening = {
    begun: false,
    text: [],
    cited: [],
    use: { input: 0, output: 0, cacheWrite: 0, cacheRead: 0 },
    stopReason: null,
    isCounted: false,
    isWhole: false,
  };
  const problem = await listen(platform, call, heard);
  const text = heard.text.join('');
  const said: Said = { text, ...(heard.isCounted && { counted: heard.use }) };
  if (problem instanceof AnswerLost) return { ended: false, said };
  if (!heard.begun) {
    if (problem instanceof ModelFailure || problem === 'stopped') return { failure: problem };
    throw problem;
  }
  const end = endOfListening(platform, call, heard, problem);
  try {
    return { ended: await record(platform, call, { ...end, ...heard, text }), said };
  } catch (error) {
    if (error instanceof AnswerLost) return { ended: false, said };
    throw error;
  }
}

/** @returns what kept the stream from its last word, if something did */
async function listen(platform: HearingPlatform, call: Call, heard: Listening): Promise<unknown> {
  const { answer, log, prompt, signal, clock } = call;
  const cleaner = createTextCleaner();
  const tooLate = new AbortController();
  const late = new ModelFailure('silent', 'not_begun_in_time');
  const left = answer.createdAt.getTime() + answerRules.beginWithinMs - clock().getTime();
  const untilBegun = setTimeout(() => tooLate.abort(late), left);
  const signals = AbortSignal.any([signal, log.lost, tooLate.signal]);
  const write = async (text: string) => {
    heard.text.push(text);
    await log.append(text);
  };
  try {
    for await (const event of platform.askModel(prompt.request, signals)) {
      if (event.type === 'begun') {
        clearTimeout(untilBegun);
        await begin(platform, call, heard, event);
      } else if (!heard.begun) throw new ModelFailure('unavailable', 'out_of_order');
      else if (event.type === 'text') await write(cleaner.push(event.text));
      else if (event.type === 'citation') heard.cited.push(event.citation);
      else if (event.type === 'stopped') {
        Object.assign(heard, { stopReason: event.reason, use: { ...heard.use, ...event.use }, isCounted: true });
      } else heard.isWhole = true;
    }
    return heard.begun ? undefined : new ModelFailure('unavailable', 'nothing_came');
  } catch (error) {
    if (log.lost.aborted) return log.lost.reason;
    return signal.aborted ? 'stopped' : error;
  } finally {
    clearTimeout(untilBegun);
    const held = cleaner.end();
    if (held !== '') await write(held).catch(() => {}); // the end writes what the log did not take
  }
}

async function begin(
  platform: HearingPlatform,
  { answer, callNo, log, clock }: Call,
  heard: Listening,
  event: Extract<ModelEvent, { type: 'begun' }>,
): Promise<void> {
  await platform.failpoint('answer_called');
  heard.use = event.use;
  const mine = await whileOurs(log, () => beginAnswer(platform.database.source, answer, callNo, event, clock()));
  if (!mine) throw new AnswerLost('The answer is not ours any more');
  heard.begun = true;
  await platform.failpoint('answer_begun');
}

function endOfListening(
  { logger }: HearingPlatform,
  { answer, callNo }: Call,
  { stopReason, isWhole }: Listening,
  problem: unknown,
): { status: Heard['status']; errorCode?: AnswerError | undefined } {
  if (isWhole && problem === undefined) return endOf(stopReason);
  const where = { answerId: answer.id, call: callNo };
  if (problem === 'stopped') return { status: 'failed', errorCode: 'interrupted' };
  if (problem instanceof ModelFailure) {
    logger.warn({ ...where, code: problem.code, requestId: problem.requestId }, 'the stream of the model broke off');
    return { status: 'failed', errorCode: errorAfterBegin(problem.kind) };
  }
  logger.error({ ...where, error: describeError(problem) }, 'an answer could not be finished');
  return { status: 'failed', errorCode: 'internal_error' };
}

async function record(
  platform: HearingPlatform,
  { answer, callNo, prompt, log, clock }: Call,
  heard: Omit<Listening, 'text'> & Pick<Heard, 'status' | 'errorCode' | 'text'>,
): Promise<boolean> {
  const { citations, dropped } = citationsOf(heard.cited, prompt.sent);
  if (dropped > 0) platform.logger.warn({ answerId: answer.id, dropped }, 'the model cited what it was not sent');
  const rest = await log.rest();
  await platform.failpoint('answer_ending');
  const { status, errorCode, text, use, isCounted } = heard;
  const { id: answerId, model, maxTokens } = answer;
  const end: Heard = {
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
  return whileOurs(log, () => endHeard(platform.database, end, clock()));
}

/** What the model said is worth waiting for Postgres: tried again until the answer is lost. @throws AnswerLost */
async function whileOurs<T>(log: AnswerLog, work: () => Promise<T>): Promise<T> {
  for (let waited = 0; ; waited += tryAgainMs) {
    try {
      return await work();
    } catch (error) {
      log.lost.throwIfAborted();
      if (waited > answerRules.leaseMs) throw error; // no outage, for the lease is renewed: a fault of ours
      await sleep(tryAgainMs);
    }
  }
}
