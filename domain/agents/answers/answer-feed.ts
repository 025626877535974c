/**
 * The text of answers as it grows: workers write it to Postgres, this reads it for everybody in the process who follows an
 * answer, with one query a look, however many they are. A follower has a cursor and is given more only when it asks, so that a
 * slow one holds nothing but its place.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import type { Id } from '../../../platform/core/ids.ts';
import { listen } from '../../../platform/infra/postgres/notifications.ts';
import { prepared } from '../../../platform/infra/postgres/prepared.ts';
import { answersChannel } from './answers-channel.ts';

/** How often it looks without being called: what a lost NOTIFY costs at most. */
const pollMs = 1_000;
/** Characters of an ended answer, and entries of the log of one under way, that a follower is given at a time. */
const maxCharacters = 16_384;
const maxEntries = 64;

export interface FeedDeps {
  source: DataSource;
  /** A direct connection, without transaction pooling: LISTEN needs one of its own. */
  databaseUrl: string;
  /** Told of a look or a connection that failed; it is tried again. */
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

/** A follower between asking for more and getting it. */
interface Follower {
  answerId: Id;
  /** Characters that it has. */
  cursor: number;
  /** The number of the notification after which the follower had read everything; -1 while there may be more. */
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
  const waiting = new Set<Follower>();
  let notifications = 0;
  let stopped = false;
  let wakeUp = () => {};
  const notify = () => {
    notifications++;
    wakeUp();
  };
  const listener = listen({ databaseUrl, name: 'club-answers', channel: answersChannel, onNotify: notify, onFailure });
  const poll = setInterval(() => waiting.size > 0 && notify(), pollMs);
  const isDue = ({ seen }: Follower) => seen < notifications;

  async function run(): Promise<void> {
    while (!stopped) {
      const due = [...waiting].filter(isDue);
      if (due.length > 0) await look(due);
      else await new Promise<void>((resolve) => (wakeUp = resolve));
    }
  }

  async function look(due: readonly Follower[]): Promise<void> {
    const notificationsBefore = notifications;
    try {
      const parts = await readParts(source, [due.map(({ answerId }) => answerId), due.map(({ cursor }) => cursor)]);
      for (const [index, follower] of due.entries()) {
        const part = parts[index];
        if (!part || !waiting.has(follower)) continue;
        follower.seen = part.more ? -1 : notificationsBefore;
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
      const follower: Follower = { answerId, cursor: from, seen: -1, take: () => {} };
      for (;;) {
        const part = await next(follower, left);
        if (!part) return false;
        follower.cursor += lengthOf(part.text);
        if (part.text !== '') yield part.text;
        if (part.over && !part.more) return true;
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
