/** A model server, a worker, two API processes, and students who may ask an agent. */
import { Transaction } from '../../platform/infra/postgres/database.ts';
import type { DataSource } from 'typeorm';
import { readConfig } from '../../config.ts';
import type { Child } from '../../dev/stack/children.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { openSession } from '../../domain/identity/sessions/sessions.ts';
import { createDataSource } from '../../entities/data-source.ts';
import { migrate } from '../../commands/migrate.ts';
import { onFreshStack } from '../support.ts';
import { modelServerAt, type ModelServer } from './model-server.ts';

/** The cheapest model, so that many questions do not use up the budget of a club. */
const model = 'claude-haiku-5-5';

/** There are many, because the rate limit counts each student separately. */
export interface BenchStudent {
  readonly clubId: Id;
  readonly publicId: string;
  readonly token: string;
}

export interface Scene {
  readonly server: ModelServer;
  readonly apis: readonly string[];
  /** Process ids, for the cost of each process. */
  readonly processes: { readonly apis: readonly number[]; readonly worker: number; readonly model: number };
  readonly students: readonly BenchStudent[];
}

const clubs = 20;
const studentsAClub = 10;
const passagesAClub = 200;

/** Measures on a fresh stack. */
export async function onAgentScene(measure: (scene: Scene) => Promise<void>): Promise<void> {
  await onFreshStack(['temporal', 'postgres'], async ({ env, launch }) => {
    const source = await createDataSource(readConfig(env).database, 'club-bench').initialize();
    await migrate(source);
    const server = await launch('dev/fake-model/serve.ts', 'FAKE_MODEL_PORT');
    const address = `http://127.0.0.1:${server.port}`;
    const asking = { ANTHROPIC_API_KEY: 'bench', ANTHROPIC_BASE_URL: address, TRUSTED_PROXIES: '127.0.0.0/8' };
    const students: BenchStudent[] = [];
    for (let club = 0; club < clubs; club += 1) students.push(...(await addClub(source)));
    await source.query('ANALYZE');
    const worker = await launch('worker/main.ts', 'WORKER_PORT', asking);
    const apis = [await launch('api/server.ts', 'API_PORT', asking), await launch('api/server.ts', 'API_PORT', asking)];
    await measure({
      server: modelServerAt(address),
      apis: apis.map(({ port }) => `http://127.0.0.1:${port}`),
      processes: { apis: apis.map(({ child }) => idOf(child)), worker: idOf(worker.child), model: idOf(server.child) },
      students,
    });
    await source.destroy();
  });
}

/** In rotation. */
export function pick<T>(list: readonly T[], index: number): T {
  return list[index % list.length] as T;
}

function idOf({ pid, name }: Child): number {
  if (pid === undefined) throw new Error(`${name} has no process id.`);
  return pid;
}

/** A club with a published agent and students with access. The material is one indexed file with many passages. */
export async function addClub(source: DataSource, students = studentsAClub): Promise<BenchStudent[]> {
  const [clubId, mediaId, agentId, deliveryId, sourceId] = [newId(), newId(), newId(), newId(), newId()];
  const publicId = 'bosun';
  const rows: [string, unknown[]][] = [
    [`INSERT INTO clubs (id, name, slug, created_at) VALUES ($1, 'Club', $2, now())`, [clubId, `club-${clubId}`]],
    [
      `INSERT INTO media (id, club_id, purpose, kind, title, provider, status, created_at, updated_at)
       VALUES ($1, $2, 'library', 'document', 'Bends', 'objstore', 'ready', now(), now())`,
      [mediaId, clubId],
    ],
    [
      `INSERT INTO agents (id, club_id, public_id, name, model, status, daily_limit, answer_max_tokens, created_at, updated_at)
       VALUES ($1, $2, $3, 'Bosun', $4, 'published', 1000, 8192, now(), now())`,
      [agentId, clubId, publicId, model],
    ],
    [
      `INSERT INTO agent_sources (id, club_id, kind, media_id, title, status, indexed_version, passage_count, indexed_at, created_at, updated_at)
       VALUES ($1, $2, 'media', $3, 'Bends', 'ready', 1, $4, now(), now(), now())`,
      [sourceId, clubId, mediaId, passagesAClub],
    ],
    [`INSERT INTO agent_materials (id, agent_id, media_id) VALUES ($1, $2, $3)`, [newId(), agentId, mediaId]],
    [
      `INSERT INTO agent_passages (id, source_id, club_id, position, title, headings, blocks, text, language)
       SELECT gen_random_uuid(), $1, $2, n, 'Bends', '{}', blocks, array_to_string(blocks, ''), 'en'
         FROM (SELECT n, ARRAY(SELECT 'Rule ' || n || '.' || s || ' of the deck: a rope is joined to a rope by bend ' || (n * 7 + s) % 97 ||
                                      ' and made fast by hitch ' || (n + s * 13) % 89 || '. ' FROM generate_series(1, 5) AS s) AS blocks
                 FROM generate_series(0, $3::int - 1) AS n) AS passage`,
      [sourceId, clubId, passagesAClub],
    ],
    [
      `INSERT INTO access_deliveries (id, club_id, name, kind, agent_id, created_at, updated_at)
       VALUES ($1, $2, 'The bosun', 'agent', $3, now(), now())`,
      [deliveryId, clubId, agentId],
    ],
  ];
  for (const [statement, values] of rows) await source.query(statement, values);
  return Promise.all(Array.from({ length: students }, () => addStudent(source, { clubId, publicId, deliveryId })));
}

async function addStudent(
  source: DataSource,
  { clubId, publicId, deliveryId }: { clubId: Id; publicId: string; deliveryId: Id },
): Promise<BenchStudent> {
  const id = newId();
  await source.query(
    `INSERT INTO students (id, club_id, name, email, verified_at, created_at) VALUES ($1, $2, 'Student', $3, now(), now())`,
    [id, clubId, `student-${id}@example.com`],
  );
  await source.query(
    `INSERT INTO enrollments (id, club_id, student_id, delivery_id, source, starts_at, created_at, updated_at)
     VALUES ($1, $2, $3, $4, 'grant', now() - interval '1 minute', now(), now())`,
    [newId(), clubId, id, deliveryId],
  );
  const { token } = await source.transaction((tx) => openSession(new Transaction(tx), 'student', id, new Date()));
  return { clubId, publicId, token };
}
