/** Measures how often ten API processes read from Postgres while they follow 50 answers that workers write. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { readConfig } from '../../config.ts';
import { createAnswerFeed } from '../../domain/agents/answers/answer-feed.ts';
import { createAnswersNotifier } from '../../domain/agents/answers/answers-channel.ts';
import { createDeltaLog } from '../../domain/agents/answers/delta-log.ts';
import { createDataSource } from '../../entities/data-source.ts';
import { migrate } from '../../commands/migrate.ts';
import type { Id } from '../../platform/core/ids.ts';
import { onFreshStack, progress, quantile, report } from '../support.ts';

const apis = 10;
const answers = 50;
/** Each worker writes its own answers, about ten times a second. */
const workerCounts = [1, 4];
/** This makes 50 deltas a second. */
const delayMs = 20;
const characters = 24;
const seconds = 10;

export async function measureFeeds(): Promise<void> {
  await onFreshStack(['postgres'], async ({ env }) => {
    const config = readConfig(env).database;
    const source = await createDataSource(config, 'club-bench').initialize();
    await migrate(source);
    for (const workers of workerCounts) {
      progress(`${answers} streams over ${apis} processes, written by ${workers}`);
      await measure(source, config.url.reveal(), workers);
    }
    await source.destroy();
  });
}

async function measure(source: DataSource, databaseUrl: string, workers: number): Promise<void> {
  const ids = await buildAnswers(source);
  const feeds = Array.from({ length: apis }, () => createAnswerFeed({ source, databaseUrl, onFailure() {} }));
  const writers = Array.from({ length: workers }, () =>
    createDeltaLog({
      source,
      notify: createAnswersNotifier(source, () => {}).notify,
      onError() {},
      async failpoint() {},
    }),
  );
  const readerLeaving = new AbortController();
  const lags: number[] = [];
  const following = ids.map(async (id, index) => {
    let rest = '';
    for await (const text of feeds[index % apis]?.follow(id, 0, readerLeaving.signal) ?? []) {
      const now = performance.now();
      const words = (rest + text).split(' ');
      rest = words.pop() ?? '';
      for (const word of words) lags.push(now - Number.parseFloat(word));
    }
  });
  await sleep(1_000);
  const queries = countQueries(source);
  const until = performance.now() + seconds * 1_000;
  await Promise.all(
    ids.map(async (id, index) => {
      const log = writers[index % workers]?.open(id, 1, () => {});
      while (performance.now() < until) {
        await log?.append(
          `${performance
            .now()
            .toFixed(3)
            .padStart(characters - 1, '0')} `,
        );
        await sleep(delayMs);
      }
    }),
  );
  const { reads, followers, notifies } = queries.stop();
  readerLeaving.abort();
  await Promise.all(following);
  for (const writer of writers) writer.close();
  for (const feed of feeds) await feed.stop();
  report(`${answers} streams over ${apis} API processes, ${workers} writing: queries/s`, {
    value: reads / seconds,
    'followers a query': followers / reads,
    'NOTIFY statements/s': notifies / seconds,
    'delta lag ms p50': quantile(lags, 0.5),
    p95: quantile(lags, 0.95),
  });
}

/** Counts reads of the feeds and NOTIFYs of the writers at the pool. */
function countQueries(source: DataSource): { stop(): { reads: number; followers: number; notifies: number } } {
  const pool = (source.driver as unknown as { master: { query: (...queryArguments: unknown[]) => unknown } }).master;
  const { query } = pool;
  const count = { reads: 0, followers: 0, notifies: 0 };
  pool.query = (...queryArguments) => {
    const { name, values } = queryArguments[0] as { name?: string; values?: unknown[][] };
    if (name === 'answer_parts') {
      count.reads++;
      count.followers += values?.[0]?.length ?? 0;
    }
    if (name === 'notify_answers') count.notifies++;
    return query.apply(pool, queryArguments);
  };
  return {
    stop() {
      pool.query = query;
      return count;
    },
  };
}

/** Each answer is for a different student. */
async function buildAnswers(source: DataSource): Promise<Id[]> {
  const rows = await source.query<{ id: Id }[]>(
    `WITH club AS (INSERT INTO clubs (id, name, slug, created_at) SELECT id, 'Club', id::text, now() FROM (SELECT gen_random_uuid() AS id) one RETURNING id),
     agent AS (
       INSERT INTO agents (id, club_id, public_id, name, status, daily_limit, answer_max_tokens, created_at, updated_at)
       SELECT gen_random_uuid(), id, 'bosun', 'Bosun', 'published', 50, 1024, now(), now() FROM club RETURNING id, club_id),
     ids AS MATERIALIZED (
       SELECT gen_random_uuid() AS student, gen_random_uuid() AS conversation, gen_random_uuid() AS question, agent.id AS agent, club_id
         FROM agent, generate_series(1, ${answers})),
     opened AS (
       INSERT INTO students (id, club_id, name, email, verified_at, created_at)
       SELECT student, club_id, 'Student', student || '@example.com', now(), now() FROM ids),
     talking AS (
       INSERT INTO agent_conversations (id, club_id, agent_id, student_id, title, created_at, last_message_at)
       SELECT conversation, club_id, agent, student, 'A title', now(), now() FROM ids),
     asked AS (
       INSERT INTO agent_questions (id, club_id, agent_id, student_id, conversation_id, content, asked_at)
       SELECT question, club_id, agent, student, conversation, 'Which knot?', now() FROM ids)
     INSERT INTO agent_answers (id, question_id, club_id, agent_id, student_id, conversation_id, model, max_tokens, call_no, begun_at, lease_until, looks_at, created_at)
     SELECT gen_random_uuid(), question, club_id, agent, student, conversation, 'claude-haiku-5-5', 1024, 1, now(), now() + interval '20 s', now(), now()
       FROM ids RETURNING id`,
  );
  return rows.map(({ id }) => id);
}
