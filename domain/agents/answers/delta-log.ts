/**
 * Writes the logs of answers. Each process has one writer. It writes the first words of an answer immediately. About ten times a second, it
 * writes the later words of all answers in one statement. The statement checks the fencing token of each answer. The writer also renews the
 * leases of these answers. If Postgres is too slow, the reader of a stream waits, so that memory stays bounded and no words are lost.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import type { Id } from '../../../platform/core/ids.ts';
import { forAllClubs } from '../../../platform/infra/postgres/shared-pool.ts';
import { answerRules } from './answers.policy.ts';
import { deltaStatements, type DeltaStatements } from './delta-statements.ts';
import { charactersOf } from './delta-text.policy.ts';

const batchMs = 100;
const tryAgainMs = 200;
/** The interval between renewals, which is much shorter than the lease. */
const renewEveryMs = 5_000;
/**
 * The maximum number of characters of one answer that wait for a write. The stream is not read further until these characters are written.
 */
const maxWaiting = 4_096;

/**
 * This call does not own the answer any more: another transaction ended the answer, or Postgres was unreachable for longer than the lease.
 */
export class AnswerLost extends Error {
  override name = 'AnswerLost';
  code = 'answer_lost';
}

/** Words with their fixed position in the answer. */
export interface Delta {
  startsAt: number;
  text: string;
}

export interface AnswerLog {
  /** Aborted with AnswerLost. */
  readonly lost: AbortSignal;
  /**
   * Adds words after the words that were added before.
   * @returns a promise that resolves when the writer has space for more words @throws AnswerLost
   */
  append(text: string): Promise<void>;
  /** Stops accepting words and waits for the running write. @returns the words that the log does not contain yet @throws AnswerLost */
  rest(): Promise<Delta>;
  /** Stops the renewal of the lease. The caller must always call this function. */
  release(): void;
}

export interface DeltaLog {
  /**
   * @param callNo the fencing token with which the caller has just claimed the answer
   * @param onFirstWords a function that is called when the log has the first words
   */
  open(answerId: Id, callNo: number, onFirstWords: () => void): AnswerLog;
  /** Stops the timers. Every open answer then fails with `AnswerLost`. */
  close(): void;
}

export interface DeltaLogDeps {
  source: DataSource;
  /** Notifies the API's processes that answers' logs have grown. It is called after the commit. */
  notify: (answerIds: readonly Id[]) => void;
  onError: (error: unknown) => void;
  failpoint: (name: 'answer_delta') => Promise<void>;
  /** Tests shorten it. */
  leaseMs?: number;
  statements?: DeltaStatements;
}

interface Entry {
  answerId: Id;
  callNo: number;
  /** The words of the running write. A repeated write sends exactly these words again. */
  runningWrite: Delta | undefined;
  waiting: string[];
  waitingCharacters: number;
  /** The position at which the waiting words begin. */
  startsAt: number;
  isFirst: boolean;
  onFirstWords: () => void;
  isClosed: boolean;
  /** The end of the lease, measured by this process's own clock. Before this time, no other worker can have the lease. */
  leaseEnds: number;
  lost: AbortController;
  /** Resolves when a write has succeeded, or when another call owns the answer. */
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
    entry.lost.abort(new AnswerLost('The answer belongs to another call, or it has ended'));
    entries.delete(entry);
    wake(entry);
  };

  /** The first words of an answer are written immediately, later words with the next batch. */
  const schedule = () => {
    if (writing) return;
    const due = [...entries].filter(isDue);
    if (due.some((entry) => entry.isFirst && !entry.runningWrite)) {
      clearTimeout(timer);
      timer = undefined;
      void forAllClubs(write);
    } else if (due.length > 0) timer ??= setTimeout(() => ((timer = undefined), void forAllClubs(write)), batchMs);
  };

  /** Writes one batch. If a write fails, Postgres may already have stored the text. So the next try sends exactly the same text. */
  async function write(): Promise<void> {
    writing = true;
    try {
      const batch = [...entries].filter(isDue);
      for (const entry of batch) entry.runningWrite ??= take(entry);
      const outcomes = await statements.write(
        source,
        batch.map(({ answerId, callNo, runningWrite }) => ({
          answerId,
          callNo,
          ...(runningWrite ?? { startsAt: 0, text: '' }),
        })),
      );
      await deps.failpoint('answer_delta');
      const grown: Id[] = [];
      for (const [index, entry] of batch.entries()) {
        const outcome = outcomes[index];
        if (outcome === 'written') {
          grown.push(entry.answerId);
          entry.runningWrite = undefined;
          if (entry.isFirst) entry.onFirstWords();
          entry.isFirst = false;
          wake(entry);
        } else if (outcome === 'lost') lose(entry);
        // In all other cases another transaction has locked the row. The next batch then writes the words.
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
    const openEntries = [...entries];
    try {
      const outcomes = await statements.renew(source, openEntries, leaseMs);
      for (const [index, entry] of openEntries.entries()) {
        if (outcomes[index] === 'written') entry.leaseEnds = began + leaseMs;
        else if (outcomes[index] === 'lost') lose(entry);
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
        runningWrite: undefined,
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
          while (entry.runningWrite && !signal.aborted) await entry.changed.promise;
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
  return entry.runningWrite !== undefined || (entry.waitingCharacters > 0 && !entry.isClosed);
}

function take(entry: Entry): Delta {
  const delta = { startsAt: entry.startsAt, text: entry.waiting.join('') };
  entry.startsAt += entry.waitingCharacters;
  entry.waiting = [];
  entry.waitingCharacters = 0;
  return delta;
}
