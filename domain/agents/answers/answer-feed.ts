/**
 * The text of answers as it grows: workers write it to Postgres, this reads it for everybody in the process who follows an
 * answer, with one query a look, however many they are. A NOTIFY names the answers that have grown, so that a process looks for
 * its own followers alone. A follower has a cursor and is given more only when it asks, so that a slow one holds nothing but its
 * place.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import type { Id } from '../../../platform/core/ids.ts';
import { listen } from '../../../platform/infra/postgres/notifications.ts';
import { prepared } from '../../../platform/infra/postgres/prepared.ts';
import { answersChannel, tagOf, tagsIn } from './answers-channel.ts';

/** How often it looks without being called: what a lost NOTIFY costs at most. */
const pollMs = 1_000;
/**
 * Between two looks for followers who have words already: workers write at different moments, and each NOTIFY would be a look.
 * Who waits for first words, or for more than one look brings, is not kept waiting.
 */
const pauseMs = 50;
/** Characters of an ended answer, and entries of the log of one under way, that a follower is given at a time. */
const maxCharacters = 16_384;
const maxEntries = 64;

export interface FeedDeps {
  source: DataSource;
  /** A direct connection, without transaction pooling: LISTEN needs one of its own. */
  databaseUrl: string;
  /** Called with a look or a connection that failed; it is tried again. */
  onFailure: (error: unknown) => void;
}

export interface AnswerFeed {
  /**
   * Follows an answer to its end. What is yielded continues what was yielded before: no gap, no repeat.
   * @param from characters (code points) that the follower has already, no more than there are
   * @param left says that the follower wants no more
   * @returns whether the answer has ended and all of it was yielded; false where the follower left or the feed was stopped
   */
  follow(answerId: Id, from: number, left: AbortSignal): AsyncGenerator<string, boolean>;
  stop(): Promise<void>;
}

interface Follower {
  answerId: Id;
  /** Characters that it has. */
  cursor: number;
  /** It has been given none yet. */
  isFirst: boolean;
  /** There may be more than it has: counts the reasons to think so. */
  called: number;
  /** The value of `called` after which it had read everything; -1 while there may be more. */
  seen: number;
  take: (part: Part | undefined) => void;
}

interface Part {
  text: string;
  /** The answer does not change any more. */
  over: boolean;
  /** There is more already than is given at a time. */
  more: boolean;
}

export function createAnswerFeed({ source, databaseUrl, onFailure }: FeedDeps): AnswerFeed {
  /** Everybody, by the tag of their answer. */
  const followers = new Map<string, Set<Follower>>();
  /** Of these, who have asked for more and not got it. */
  const waiting = new Set<Follower>();
  let stopped = false;
  let wakeUp = () => {};
  const call = (called: Iterable<Follower>) => {
    for (const follower of called) follower.called++;
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
  const isDue = ({ seen, called }: Follower) => seen < called;
  const isUrgent = ({ isFirst, seen }: Follower) => isFirst || seen < 0;

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
    const calledBefore = due.map(({ called }) => called);
    try {
      const parts = await readParts(source, [due.map(({ answerId }) => answerId), due.map(({ cursor }) => cursor)]);
      for (const [index, follower] of due.entries()) {
        const part = parts[index];
        if (!part || !waiting.has(follower)) continue;
        follower.seen = part.more ? -1 : (calledBefore[index] ?? -1);
        if (part.text !== '' || part.over) follower.take(part);
      }
    } catch (error) {
      onFailure(error);
      await pause(pollMs);
    }
  }

  /** @returns undefined where the follower left or the feed was stopped */
  function next(follower: Follower, left: AbortSignal): Promise<Part | undefined> {
    return new Promise((resolve) => {
      if (stopped || left.aborted) return resolve(undefined);
      const leave = () => follower.take(undefined);
      left.addEventListener('abort', leave);
      follower.take = (part) => {
        left.removeEventListener('abort', leave);
        waiting.delete(follower);
        resolve(part);
      };
      waiting.add(follower);
      if (isDue(follower)) wakeUp();
    });
  }

  const running = run();
  return {
    async *follow(answerId, from, left) {
      const follower: Follower = { answerId, cursor: from, isFirst: true, called: 0, seen: -1, take: () => {} };
      const tag = tagOf(answerId);
      const alike = followers.get(tag) ?? new Set();
      followers.set(tag, alike.add(follower));
      try {
        for (;;) {
          const part = await next(follower, left);
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

/** In code points, as Postgres counts. */
function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length++;
  return length;
}

/**
 * What each follower lacks, of one moment for all. An answer under way is read from its log, from the entry on in which the
 * cursor stands; an ended one from its content, because the log is removed after a while.
 */
const readParts = prepared<Part>(
  'answer_parts',
  `SELECT coalesce(CASE WHEN answer.status = 'generating' THEN log.text
                        ELSE substr(answer.content, wanted.cursor + 1, ${maxCharacters}) END, '') AS text,
          answer.status IS DISTINCT FROM 'generating' AS over,
          coalesce(CASE WHEN answer.status = 'generating' THEN log.entries = ${maxEntries}
                        ELSE char_length(answer.content) > wanted.cursor + ${maxCharacters} END, false) AS more
     FROM unnest($1::uuid[], $2::int[]) WITH ORDINALITY AS wanted (answer_id, cursor, place)
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
