/**
 * The writer of answers' logs, one a process: the first words of an answer are written at once, later ones of all answers
 * together some ten times a second, in one statement that holds each against its fence. It also renews the leases of what it
 * writes. A reader of a stream waits where Postgres does not keep up, so that no answer's memory grows and nothing is lost.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import type { Id } from '../../../platform/core/ids.ts';
import { forAllClubs } from '../../../platform/infra/postgres/shared-pool.ts';
import { answerRules } from './answers.policy.ts';
import { deltaStatements, type DeltaStatements } from './delta-statements.ts';
import { charactersOf } from './delta-text.policy.ts';

/** Between two writes of what has come. */
const batchMs = 100;
/** Before a write is tried again that Postgres did not take. */
const tryAgainMs = 200;
/** Well below the lease. */
const renewEveryMs = 5_000;
/** Characters of one answer that wait to be written; its stream is not read on before they are. */
const maxWaiting = 4_096;

/** The answer is not ours any more: it was ended by somebody else, or Postgres was away for as long as the lease lasts. */
export class AnswerLost extends Error {
  override name = 'AnswerLost';
  code = 'answer_lost';
}

/** Words whose place in the answer is fixed. */
export interface Delta {
  startsAt: number;
  text: string;
}

export interface AnswerLog {
  /** Aborted with AnswerLost. */
  readonly lost: AbortSignal;
  /** Takes words that follow those before. @returns when there is room for more @throws AnswerLost */
  append(text: string): Promise<void>;
  /** Takes no more, and waits for what is being written. @returns the words that are not in the log yet @throws AnswerLost */
  rest(): Promise<Delta>;
  /** The lease is not renewed any more; always called. */
  release(): void;
}

export interface DeltaLog {
  /**
   * @param callNo the fence: the call whose words these are, claimed just now
   * @param onFirstWords called when the first of them stand in the log
   */
  open(answerId: Id, callNo: number, onFirstWords: () => void): AnswerLog;
  /** Ends the timers; what is open is lost. */
  close(): void;
}

export interface DeltaLogDeps {
  source: DataSource;
  /** Tells the API's processes which answers' logs have grown; after the commit. */
  notify: (answerIds: readonly Id[]) => void;
  onError: (error: unknown) => void;
  /** A place where tests stop the process. */
  failpoint: (name: 'answer_delta') => Promise<void>;
  /** Tests are in a hurry. */
  leaseMs?: number;
  statements?: DeltaStatements;
}

interface Entry {
  answerId: Id;
  callNo: number;
  /** Being written: as it was sent the first time, so that a repetition writes the same. */
  sent: Delta | undefined;
  waiting: string[];
  waitingCharacters: number;
  /** Where the waiting words begin. */
  startsAt: number;
  isFirst: boolean;
  onFirstWords: () => void;
  isClosed: boolean;
  /** By this process's own clock; before it nobody else may have the lease. */
  leaseEnds: number;
  lost: AbortController;
  /** Resolved whenever something was written, or the answer lost. */
  changed: PromiseWithResolvers<void>;
}

export function createDeltaLog(deps: DeltaLogDeps): DeltaLog {
  const { source, leaseMs = answerRules.leaseMs, statements = deltaStatements } = deps;
  const entries = new Set<Entry>();
  let writing = false;
  let timer: NodeJS.Timeout | undefined;

  const wake = (entry: Entry) => {
    entry.changed.resolve();
    entry.changed = Promise.withResolvers();
  };
  const lose = (entry: Entry) => {
    entry.lost.abort(new AnswerLost('The answer is not ours any more'));
    entries.delete(entry);
    wake(entry);
  };

  /** Something waits: it is written at once if it is an answer's first, else with the next batch. */
  const schedule = () => {
    if (writing) return;
    const due = [...entries].filter(isDue);
    if (due.some((entry) => entry.isFirst && !entry.sent)) {
      clearTimeout(timer);
      timer = undefined;
      void forAllClubs(write);
    } else if (due.length > 0) timer ??= setTimeout(() => ((timer = undefined), void forAllClubs(write)), batchMs);
  };

  /** One batch, as often as it takes. What was sent once stays as it is: nobody knows whether Postgres has it. */
  async function write(): Promise<void> {
    writing = true;
    try {
      const batch = [...entries].filter(isDue);
      for (const entry of batch) entry.sent ??= take(entry);
      const outcomes = await statements.write(
        source,
        batch.map(({ answerId, callNo, sent }) => ({ answerId, callNo, ...(sent ?? { startsAt: 0, text: '' }) })),
      );
      await deps.failpoint('answer_delta');
      const grown: Id[] = [];
      for (const [place, entry] of batch.entries()) {
        const outcome = outcomes[place];
        if (outcome === 'written') {
          grown.push(entry.answerId);
          entry.sent = undefined;
          if (entry.isFirst) entry.onFirstWords();
          entry.isFirst = false;
          wake(entry);
        } else if (outcome === 'lost') lose(entry);
        // Otherwise its row is held by somebody: it is tried again with the next batch.
      }
      if (grown.length > 0) deps.notify(grown);
    } catch (error) {
      deps.onError(error);
      await sleep(tryAgainMs);
    } finally {
      writing = false;
      schedule();
    }
  }

  const renewing = setInterval(() => void renew(), Math.min(renewEveryMs, leaseMs / 4));
  renewing.unref();
  let isRenewing = false;
  async function renew(): Promise<void> {
    for (const entry of entries) if (performance.now() > entry.leaseEnds) lose(entry);
    if (isRenewing || entries.size === 0) return;
    isRenewing = true;
    const began = performance.now();
    const held = [...entries];
    try {
      const outcomes = await statements.renew(source, held, leaseMs);
      for (const [place, entry] of held.entries()) {
        if (outcomes[place] === 'written') entry.leaseEnds = began + leaseMs;
        else if (outcomes[place] === 'lost') lose(entry);
      }
    } catch (error) {
      deps.onError(error);
    } finally {
      isRenewing = false;
    }
  }

  return {
    open(answerId, callNo, onFirstWords) {
      const entry: Entry = {
        answerId,
        callNo,
        sent: undefined,
        waiting: [],
        waitingCharacters: 0,
        startsAt: 0,
        isFirst: true,
        onFirstWords,
        isClosed: false,
        leaseEnds: performance.now() + leaseMs,
        lost: new AbortController(),
        changed: Promise.withResolvers(),
      };
      entries.add(entry);
      const { signal } = entry.lost;
      return {
        lost: signal,
        async append(text) {
          signal.throwIfAborted();
          if (text === '') return;
          entry.waiting.push(text);
          entry.waitingCharacters += charactersOf(text);
          schedule();
          while (entry.waitingCharacters > maxWaiting && !signal.aborted) await entry.changed.promise;
          signal.throwIfAborted();
        },
        async rest() {
          entry.isClosed = true;
          while (entry.sent && !signal.aborted) await entry.changed.promise;
          signal.throwIfAborted();
          return take(entry);
        },
        release() {
          entries.delete(entry);
          wake(entry);
        },
      };
    },
    close() {
      clearInterval(renewing);
      clearTimeout(timer);
      for (const entry of entries) lose(entry);
    },
  };
}

function isDue(entry: Entry): boolean {
  return entry.sent !== undefined || (entry.waitingCharacters > 0 && !entry.isClosed);
}

/** All that waits, with its place. */
function take(entry: Entry): Delta {
  const delta = { startsAt: entry.startsAt, text: entry.waiting.join('') };
  entry.startsAt += entry.waitingCharacters;
  entry.waiting = [];
  entry.waitingCharacters = 0;
  return delta;
}
