/**
 * Sends the growing text of answers to all readers (followers) in this process. Workers write the text to Postgres. Each read is one query
 * for all followers. A NOTIFY names the answers that have grown. A follower gets more text only when it asks, so a slow follower uses no
 * memory.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import type { Id } from '../../../platform/core/ids.ts';
import { listen } from '../../../platform/infra/postgres/notifications.ts';
import { prepared } from '../../../platform/infra/postgres/prepared.ts';
import { answersChannel, tagOf, tagsIn } from './answers-channel.ts';

/** A lost NOTIFY delays the text by at most this time. */
const pollMs = 1_000;
/**
 * The pause between two reads for followers that already have some text. Without it, each NOTIFY of a worker would cause a read. A follower
 * that waits for its first words, or for the rest of a long text, does not wait for this pause.
 */
const pauseMs = 50;
/** The maximum size of one part: the number of characters if the answer has ended, or of log entries if it is running. */
const maxCharacters = 16_384;
const maxEntries = 64;

export interface FeedDeps {
  source: DataSource;
  /** A direct connection without transaction pooling, because LISTEN needs a connection of its own. */
  databaseUrl: string;
  /** Receives the error of a failed read or connection. The feed then tries again. */
  onFailure: (error: unknown) => void;
}

export interface AnswerFeed {
  /**
   * Follows an answer to its end. Each part begins where the part before ended, without gaps and without repeats.
   * @param from the number of characters (code points) that the follower already has; at most the length of the answer
   * @param departure a signal that is aborted when the follower disconnects
   * @returns true if the answer has ended and its whole text was yielded; false if the follower disconnected or the feed stopped
   */
  follow(answerId: Id, from: number, departure: AbortSignal): AsyncGenerator<string, boolean>;
  stop(): Promise<void>;
}

interface Follower {
  answerId: Id;
  /** The number of characters that the follower already has. */
  cursor: number;
  /** True if the follower has no words yet. */
  isFirst: boolean;
  /** A signal means that the answer may have grown. */
  signals: number;
  /** The value of `signals` when the follower last read the whole answer; -1 while more text may exist. */
  handledSignals: number;
  take: (part: Part | undefined) => void;
}

interface Part {
  text: string;
  /** True if the answer has ended and does not change any more. */
  over: boolean;
  /** True if more text exists than fits into this part. */
  more: boolean;
}

export function createAnswerFeed({ source, databaseUrl, onFailure }: FeedDeps): AnswerFeed {
  const followers = new Map<string, Set<Follower>>();
  const waiting = new Set<Follower>();
  let stopped = false;
  let wakeUp = () => {};
  const call = (notified: Iterable<Follower>) => {
    for (const follower of notified) follower.signals++;
    wakeUp();
  };
  const onNotify = (payload: string) => {
    const tags = tagsIn(payload);
    if (!tags) return [...followers.values()].forEach(call);
    for (const tag of tags) {
      const concerned = followers.get(tag);
      if (concerned) call(concerned);
    }
  };
  const listener = listen({ databaseUrl, source, name: 'club-answers', channel: answersChannel, onNotify, onFailure });
  const poll = setInterval(() => call(waiting), pollMs);
  const isDue = (follower: Follower) => follower.handledSignals < follower.signals;
  const isUrgent = (follower: Follower) => follower.isFirst || follower.handledSignals < 0;

  async function run(): Promise<void> {
    let lookedAt = -pauseMs;
    while (!stopped) {
      const due = [...waiting].filter(isDue);
      const pauseLeft = lookedAt + pauseMs - performance.now();
      if (due.length === 0) await untilCalled();
      else if (pauseLeft > 0 && !due.some(isUrgent)) await untilCalled(pauseLeft);
      else {
        lookedAt = performance.now();
        await look(due);
      }
    }
  }

  function untilCalled(timeoutMs?: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = timeoutMs === undefined ? undefined : setTimeout(resolve, timeoutMs);
      wakeUp = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async function look(due: readonly Follower[]): Promise<void> {
    const signalsBefore = due.map(({ signals }) => signals);
    try {
      const parts = await readParts(source, {
        answerIds: due.map(({ answerId }) => answerId),
        cursors: due.map(({ cursor }) => cursor),
      });
      for (const [index, follower] of due.entries()) {
        const part = parts[index];
        if (!part || !waiting.has(follower)) continue;
        follower.handledSignals = part.more ? -1 : (signalsBefore[index] ?? -1);
        if (part.text !== '' || part.over) follower.take(part);
      }
    } catch (error) {
      onFailure(error);
      await pause(pollMs);
    }
  }

  /** @returns undefined if the follower disconnected or the feed stopped */
  function next(follower: Follower, departure: AbortSignal): Promise<Part | undefined> {
    return new Promise((resolve) => {
      if (stopped || departure.aborted) return resolve(undefined);
      const leave = () => follower.take(undefined);
      departure.addEventListener('abort', leave);
      follower.take = (part) => {
        departure.removeEventListener('abort', leave);
        waiting.delete(follower);
        resolve(part);
      };
      waiting.add(follower);
      if (isDue(follower)) wakeUp();
    });
  }

  const running = run();
  return {
    async *follow(answerId, from, departure) {
      const follower: Follower = {
        answerId,
        cursor: from,
        isFirst: true,
        signals: 0,
        handledSignals: -1,
        take: () => {},
      };
      const tag = tagOf(answerId);
      const alike = followers.get(tag) ?? new Set();
      followers.set(tag, alike.add(follower));
      try {
        for (;;) {
          const part = await next(follower, departure);
          if (!part) return false;
          follower.cursor += lengthOf(part.text);
          follower.isFirst &&= part.text === '';
          if (part.text !== '') yield part.text;
          if (part.over && !part.more) return true;
        }
      } finally {
        alike.delete(follower);
        if (alike.size === 0 && followers.get(tag) === alike) followers.delete(tag);
      }
    },
    async stop() {
      stopped = true;
      clearInterval(poll);
      for (const { take } of waiting) take(undefined);
      wakeUp();
      await running;
      await listener.stop();
    },
  };
}

/** Counts code points, like Postgres. */
function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length++;
  return length;
}

/**
 * Reads the new text of all followers from one snapshot. A running answer is read from its log. An ended answer is read from its content,
 * because its log is removed after a while.
 */
const readParts = prepared<Part, { answerIds: readonly Id[]; cursors: readonly number[] }>(
  'answer_parts',
  (value) => `SELECT coalesce(CASE WHEN answer.status = 'generating' THEN log.text
                        ELSE substr(answer.content, wanted.cursor + 1, ${maxCharacters}) END, '') AS text,
          answer.status IS DISTINCT FROM 'generating' AS over,
          coalesce(CASE WHEN answer.status = 'generating' THEN log.entries = ${maxEntries}
                        ELSE char_length(answer.content) > wanted.cursor + ${maxCharacters} END, false) AS more
     FROM unnest(${value.answerIds}::uuid[], ${value.cursors}::int[]) WITH ORDINALITY AS wanted (answer_id, cursor, place)
     LEFT JOIN agent_answers answer ON answer.id = wanted.answer_id
     LEFT JOIN LATERAL (
       SELECT substr(string_agg(entry.text, '' ORDER BY entry.starts_at), wanted.cursor - min(entry.starts_at) + 1) AS text,
              count(*) AS entries
         FROM (SELECT starts_at, text FROM agent_answer_deltas
                WHERE answer_id = wanted.answer_id
                  AND starts_at >= coalesce((SELECT max(starts_at) FROM agent_answer_deltas
                                              WHERE answer_id = wanted.answer_id AND starts_at <= wanted.cursor), 0)
                ORDER BY starts_at LIMIT ${maxEntries}) AS entry
     ) AS log ON answer.status = 'generating'
    ORDER BY wanted.place`,
);
