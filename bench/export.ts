/**
 * The cost of the export of a student with 10,000 messages: the time from the request to the file, and the worker's memory. The ceiling is
 * the bare query of the same messages, with its rows as JSON.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { migrate } from '../commands/migrate.ts';
import { readConfig } from '../config.ts';
import { createDataSource } from '../entities/data-source.ts';
import { newId, type Id } from '../platform/core/ids.ts';
import { addClub, type BenchClub } from './clubs.ts';
import { onFreshStack, report } from './support.ts';
import { untilIdle, watchCost, watchMemory } from './webhooks/process-cost.ts';

export const exportMeasurements = ['messages'];

const messages = 10_000;
const limitMs = 60_000;

export async function benchExport(): Promise<void> {
  await onFreshStack(['temporal', 'postgres', 'storage'], async ({ env, launch }) => {
    const source = await createDataSource(readConfig(env).database, 'club-bench').initialize();
    await migrate(source);
    const api = await launch('api/server.ts', 'API_PORT');
    const worker = await launch('worker/main.ts', 'WORKER_PORT');
    const pid = worker.child.pid ?? 0;
    const base = `http://127.0.0.1:${api.port}`;
    const club = await addClub(source);
    await exportOf(base, club, await addStudent(source, club, 1)); // a first export loads code and opens connections
    const studentId = await addStudent(source, club, messages);
    await untilIdle(pid);
    const { memoryMb: before } = await watchCost(pid, 1);
    const memory = watchMemory(pid);
    const tookMs = await exportOf(base, club, studentId);
    const peakMb = await memory.stop();
    const bareMs = await readAtOnce(source, studentId);
    report(`export of ${messages} messages: seconds`, {
      value: tookMs / 1_000,
      ceiling: bareMs / 1_000,
      ratio: tookMs / bareMs,
    });
    report(`export of ${messages} messages: worker MB`, { value: peakMb - before, before });
    await source.destroy();
  });
}

/** @returns milliseconds from the request until the file is ready */
async function exportOf(base: string, { id, token }: BenchClub, studentId: Id): Promise<number> {
  const call = async (method: string) => {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(`${base}/v1/clubs/${id}/students/${studentId}/exports`, { method, headers });
    if (!answer.ok) throw new Error(`The export was answered ${answer.status}.`);
    return (await answer.json()) as { data: readonly { status: string }[] };
  };
  const startedAt = performance.now();
  await call('POST');
  for (;;) {
    const [newest] = (await call('GET')).data;
    if (newest?.status === 'ready') return performance.now() - startedAt;
    if (performance.now() - startedAt > limitMs) throw new Error(`The export is ${newest?.status} after a minute.`);
    await sleep(50);
  }
}

async function addStudent(source: DataSource, club: BenchClub, count: number): Promise<Id> {
  const [studentId, agentId, conversationId, now] = [newId(), newId(), newId(), new Date()];
  await source.query(
    `INSERT INTO students (id, club_id, name, email, verified_at, created_at) VALUES ($1, $2, 'Stella', $3, $4, $4)`,
    [studentId, club.id, `${studentId}@example.com`, now],
  );
  await source.query(
    `INSERT INTO agents (id, club_id, public_id, name, description, instructions, status, daily_limit, answer_max_tokens, created_at, updated_at)
     VALUES ($1, $2, $3, 'Bosun', '', '', 'published', 100, 1000, $4, $4)`,
    [agentId, club.id, agentId.slice(-12), now],
  );
  await source.query(
    `INSERT INTO agent_conversations (id, club_id, agent_id, student_id, title, created_at, last_message_at)
     VALUES ($1, $2, $3, $4, 'Knots', $5, $5)`,
    [conversationId, club.id, agentId, studentId, now],
  );
  await source.query(
    `WITH question AS (
       INSERT INTO agent_questions (id, club_id, agent_id, student_id, conversation_id, content, asked_at)
       SELECT gen_random_uuid(), $1, $2, $3, $4, repeat('How do I tie it? ', 20), $5 FROM generate_series(1, $6) RETURNING id),
     answer AS (
       INSERT INTO agent_answers (id, question_id, club_id, agent_id, student_id, conversation_id, status, content, model, max_tokens,
                                  looks_at, created_at, completed_at)
       SELECT gen_random_uuid(), id, $1, $2, $3, $4, 'complete', repeat('Take the left end over the right end. ', 50), 'm', 100, $5, $5, $5
         FROM question RETURNING id)
     INSERT INTO agent_citations (answer_id, position, cited_text, source_kind, source_title)
     SELECT id, 0, repeat('Left over right. ', 20), 'lesson', 'Knots' FROM answer`,
    [club.id, agentId, studentId, conversationId, now, count],
  );
  await source.query('ANALYZE agent_questions, agent_answers, agent_citations');
  return studentId;
}

/** @returns milliseconds for the bare query and its JSON */
async function readAtOnce(source: DataSource, studentId: Id): Promise<number> {
  const startedAt = performance.now();
  const rows = await source.query<unknown[]>(
    `SELECT question.id, question.content, question.asked_at, answer.content AS answer, answer.completed_at, citation.cited_text
       FROM agent_questions question JOIN agent_answers answer ON answer.question_id = question.id
       JOIN agent_citations citation ON citation.answer_id = answer.id
      WHERE question.student_id = $1 ORDER BY question.asked_at, question.id`,
    [studentId],
  );
  JSON.stringify(rows);
  return performance.now() - startedAt;
}
