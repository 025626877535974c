/** The modules of a course: the parts that hold its lessons. Whoever changes one holds its course. */
import type { RecordOf } from '../../../contract/contract.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import type { DatabaseDeps } from '../../deps.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { tidyName } from '../../../platform/core/text.policy.ts';
import { courseFull, holdCourse, mostModules } from './courses.ts';

type Module = RecordOf<'Module'>;

interface ModuleRow {
  id: Id;
  courseId: Id;
  title: string;
  createdAt: Date;
}

/** Adds a module at the end of the course. @throws DomainError not_found, course_full */
export async function createModule(
  { database }: DatabaseDeps,
  clubId: Id,
  courseId: Id,
  input: RecordOf<'ModuleCreation'>,
  now: Date,
): Promise<Module> {
  return database.transaction(async (tx) => {
    await holdCourse(tx, clubId, courseId);
    const [present] = await tx.query<{ count: number; end: number }[]>(
      `SELECT count(*)::int AS count, coalesce(max(position) + 1, 0) AS "end" FROM modules WHERE course_id = $1`,
      [courseId],
    );
    if (present && present.count >= mostModules) throw courseFull(`A course has at most ${mostModules} modules.`);
    const id = newId();
    await tx.query(
      `INSERT INTO modules (id, club_id, course_id, title, position, created_at) VALUES ($1, $2, $3, $4, $5, $6)`,
      [id, clubId, courseId, tidyName(input.title), present?.end ?? 0, now],
    );
    return presentModule(await findModule(tx, clubId, id));
  });
}

/** @throws DomainError not_found */
export async function updateModule(
  { database }: DatabaseDeps,
  clubId: Id,
  moduleId: Id,
  input: RecordOf<'ModuleChange'>,
): Promise<Module> {
  return database.transaction(async (tx) => {
    const row = await holdModule(tx, clubId, moduleId);
    const title = tidyName(input.title);
    await tx.query(`UPDATE modules SET title = $2 WHERE id = $1`, [moduleId, title]);
    return presentModule({ ...row, title });
  });
}

/** @throws DomainError not_found, in_use while the module has lessons */
export async function deleteModule({ database }: DatabaseDeps, clubId: Id, moduleId: Id): Promise<void> {
  await database.transaction(async (tx) => {
    await holdModule(tx, clubId, moduleId);
    const lessons = await tx.query<unknown[]>(`SELECT 1 FROM lessons WHERE module_id = $1 LIMIT 1`, [moduleId]);
    if (lessons.length > 0) throw new DomainError('in_use', 'The module has lessons: move or remove them first.');
    await tx.query(`DELETE FROM modules WHERE id = $1`, [moduleId]);
  });
}

/** Finds the module and holds its course; what is returned was read after. @throws DomainError not_found */
export async function holdModule(tx: Transaction, clubId: Id, moduleId: Id): Promise<ModuleRow> {
  const { courseId } = await findModule(tx, clubId, moduleId);
  await holdCourse(tx, clubId, courseId);
  return findModule(tx, clubId, moduleId);
}

async function findModule(tx: Transaction, clubId: Id, moduleId: Id): Promise<ModuleRow> {
  const [row] = await tx.query<ModuleRow[]>(
    `SELECT id, course_id AS "courseId", title, created_at AS "createdAt" FROM modules WHERE id = $1 AND club_id = $2`,
    [moduleId, clubId],
  );
  if (!row) throw notFound('module');
  return row;
}

function presentModule({ id, courseId, title, createdAt }: ModuleRow): Module {
  return { id, course_id: courseId, title, created_at: createdAt.toISOString() };
}
