/** The modules of a course, which contain its lessons. Each change locks the course. */
import { Module } from '../../../entities/learning/module.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns, sql, type RowOf } from '../../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../../deps.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { tidyName } from '../../../platform/core/text/text.policy.ts';
import { courseFull, lockCourse, maxModules } from './courses.ts';

type ModuleRecord = RecordOf<'Module'>;

const moduleColumns = columns(Module, ['id', 'courseId', 'title', 'createdAt']);
type ModuleRow = RowOf<typeof moduleColumns>;

/** Adds a module at the end of the course. @throws DomainError not_found, course_full */
export async function createModule(
  { db }: DatabaseDeps,
  clubId: Id,
  courseId: Id,
  input: RecordOf<'ModuleCreation'>,
  now: Date,
): Promise<ModuleRecord> {
  return db.transaction(async (tx) => {
    await lockCourse(tx, clubId, courseId);
    const present = await tx.one<{ count: number; end: number }>(
      sql`SELECT count(*)::int AS count, coalesce(max(position) + 1, 0) AS "end" FROM modules WHERE course_id = ${courseId}`,
    );
    if (present && present.count >= maxModules) throw courseFull(`A course has at most ${maxModules} modules.`);
    const id = newId();
    await tx.manager.insert(Module, {
      id,
      clubId,
      courseId,
      title: tidyName(input.title),
      position: present?.end ?? 0,
      createdAt: now,
    });
    return presentModule(await findModule(tx, clubId, id));
  });
}

/** @throws DomainError not_found */
export async function updateModule(
  { db }: DatabaseDeps,
  clubId: Id,
  moduleId: Id,
  input: RecordOf<'ModuleChange'>,
): Promise<ModuleRecord> {
  return db.transaction(async (tx) => {
    const row = await lockModule(tx, clubId, moduleId);
    const title = tidyName(input.title);
    await tx.manager.update(Module, { id: moduleId }, { title });
    return presentModule({ ...row, title });
  });
}

/** @throws DomainError not_found, in_use while the module has lessons */
export async function deleteModule({ db }: DatabaseDeps, clubId: Id, moduleId: Id): Promise<void> {
  await db.transaction(async (tx) => {
    await lockModule(tx, clubId, moduleId);
    const lessons = await tx.rows(sql`SELECT 1 FROM lessons WHERE module_id = ${moduleId} LIMIT 1`);
    if (lessons.length > 0) throw new DomainError('in_use', 'The module has lessons: move or remove them first.');
    await tx.manager.delete(Module, { id: moduleId });
  });
}

/** Locks the module's course, then reads the module. @throws DomainError not_found */
export async function lockModule(tx: Transaction, clubId: Id, moduleId: Id): Promise<ModuleRow> {
  const { courseId } = await findModule(tx, clubId, moduleId);
  await lockCourse(tx, clubId, courseId);
  return findModule(tx, clubId, moduleId);
}

async function findModule(tx: Transaction, clubId: Id, moduleId: Id): Promise<ModuleRow> {
  const row = await tx.one<ModuleRow>(
    sql`SELECT ${moduleColumns} FROM modules WHERE id = ${moduleId} AND club_id = ${clubId}`,
  );
  if (!row) throw notFound('module');
  return row;
}

function presentModule({ id, courseId, title, createdAt }: ModuleRow): ModuleRecord {
  return { id, course_id: courseId, title, created_at: createdAt.toISOString() };
}
