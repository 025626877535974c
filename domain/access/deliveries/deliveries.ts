/** Lists and changes a club's deliveries for administrators. A delivery names the record that it opens, such as a course. */
import { isDeepStrictEqual } from 'node:util';
import { AccessDelivery } from '../../../entities/access/access-delivery.ts';
import type { EntityTarget } from 'typeorm';
import type { RecordOf } from '../../../contract/contract.ts';
import type { DeliveryKind } from '../../../entities/access/values.ts';
import { Agent } from '../../../entities/agents/agent.ts';
import { CommunitySpace } from '../../../entities/community/community-space.ts';
import { Course } from '../../../entities/learning/course.ts';
import { Repository } from '../../../entities/repositories/repository.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { all, columns, sql, type RowOf, type Sql } from '../../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../../deps.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { newestFirst } from '../../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import { tidyName } from '../../../platform/core/text/text.policy.ts';
import { lockCohortForShare } from '../enrollments/cohorts.ts';

type DeliveryRecord = RecordOf<'Delivery'>;
type Opening = RecordOf<'DeliveryOpening'>;
type OpeningInput = RecordOf<'DeliveryOpeningInput'>;

const openable: Readonly<Record<DeliveryKind, EntityTarget<{ id: Id; clubId: Id }>>> = {
  course: Course,
  agent: Agent,
  repository: Repository,
  space: CommunitySpace,
};

const noOpening = { courseId: null, cohortId: null, agentId: null, repositoryId: null, spaceId: null } as const;
type NoOpening = typeof noOpening;

/** The columns of `access_deliveries` that say what the delivery opens. */
export type OpeningRow =
  | (Omit<NoOpening, 'courseId' | 'cohortId'> & { kind: 'course'; courseId: Id; cohortId: Id | null })
  | (Omit<NoOpening, 'agentId'> & { kind: 'agent'; agentId: Id })
  | (Omit<NoOpening, 'repositoryId'> & { kind: 'repository'; repositoryId: Id })
  | (Omit<NoOpening, 'spaceId'> & { kind: 'space'; spaceId: Id });

const deliveryColumns = columns(AccessDelivery, [
  'id',
  'name',
  'free',
  'accessDays',
  'createdAt',
  'updatedAt',
  'archivedAt',
]).and<OpeningRow>(columns(AccessDelivery, ['kind', 'courseId', 'cohortId', 'agentId', 'repositoryId', 'spaceId']));
type DeliveryRow = RowOf<typeof deliveryColumns>;

export function presentOpening(row: OpeningRow): Opening {
  switch (row.kind) {
    case 'course':
      return { kind: row.kind, course_id: row.courseId, ...(row.cohortId !== null && { cohort_id: row.cohortId }) };
    case 'agent':
      return { kind: row.kind, agent_id: row.agentId };
    case 'repository':
      return { kind: row.kind, repository_id: row.repositoryId };
    case 'space':
      return { kind: row.kind, space_id: row.spaceId };
  }
}

function rowOf(opens: OpeningInput): OpeningRow {
  switch (opens.kind) {
    case 'course': {
      const [courseId, cohortId] = [opens.course_id.toLowerCase(), opens.cohort_id?.toLowerCase() ?? null];
      return { ...noOpening, kind: opens.kind, courseId, cohortId };
    }
    case 'agent':
      return { ...noOpening, kind: opens.kind, agentId: opens.agent_id.toLowerCase() };
    case 'repository':
      return { ...noOpening, kind: opens.kind, repositoryId: opens.repository_id.toLowerCase() };
    case 'space':
      return { ...noOpening, kind: opens.kind, spaceId: opens.space_id.toLowerCase() };
  }
}

const openingOf = ({ kind, courseId, cohortId, agentId, repositoryId, spaceId }: OpeningRow) => ({
  kind,
  courseId,
  cohortId,
  agentId,
  repositoryId,
  spaceId,
});

function presentDelivery(delivery: DeliveryRow): DeliveryRecord {
  return {
    id: delivery.id,
    name: delivery.name,
    opens: presentOpening(delivery),
    free: delivery.free,
    ...(delivery.accessDays !== null && { access_days: delivery.accessDays }),
    archived: delivery.archivedAt !== null,
    created_at: delivery.createdAt.toISOString(),
    updated_at: delivery.updatedAt.toISOString(),
  };
}

/** @returns a page of the club's deliveries, newest first */
export async function listDeliveries(
  db: Queries,
  clubId: Id,
  filter: PageRequest & { archived?: boolean },
): Promise<Page<DeliveryRecord>> {
  const archived = filter.archived ? sql`archived_at IS NOT NULL` : sql`archived_at IS NULL`;
  const { rows, total, next } = await listPage(db, filter, {
    columns: deliveryColumns,
    from: sql`FROM access_deliveries WHERE ${all([
      sql`club_id = ${clubId}`,
      filter.archived === undefined ? undefined : archived,
    ])}`,
    changedAt: 'changed_at',
    orderBy: newestFirst(),
  });
  return { rows: rows.map(presentDelivery), total, next };
}

/** @throws DomainError not_found */
export async function findDelivery(db: Queries, clubId: Id, deliveryId: Id): Promise<DeliveryRecord> {
  return presentDelivery(await readDelivery(db, clubId, deliveryId));
}

/** @throws DomainError not_found (no such course, cohort, agent, repository or space) */
export async function createDelivery(
  { db }: DatabaseDeps,
  clubId: Id,
  input: { name: string; opens: OpeningInput; free?: boolean; access_days?: number },
  now: Date,
): Promise<DeliveryRecord> {
  return db.transaction(async (tx) => {
    const opens = rowOf(input.opens);
    await requireOpening(tx, clubId, opens);
    const id = newId();
    await tx.manager.insert(AccessDelivery, {
      id,
      clubId,
      name: tidyName(input.name),
      ...openingOf(opens),
      free: input.free ?? false,
      accessDays: input.access_days ?? null,
      createdAt: now,
      updatedAt: now,
    });
    return findDelivery(tx, clubId, id);
  });
}

/**
 * Changes the fields of the delivery that `input` contains. Existing enrollments do not change.
 * @param input.access_days the number of days of access; 0 removes the limit
 * @throws DomainError not_found (no such delivery, course, cohort, agent, repository or space), in_use (students are enrolled by this
 * delivery, so it cannot open a different record)
 */
export async function updateDelivery(
  { db }: DatabaseDeps,
  clubId: Id,
  deliveryId: Id,
  input: { name?: string; opens?: OpeningInput; free?: boolean; access_days?: number },
  now: Date,
): Promise<DeliveryRecord> {
  return db.transaction(async (tx) => {
    const before = await lockDelivery(tx, clubId, deliveryId);
    const opens = input.opens ? rowOf(input.opens) : before;
    if (input.opens) await requireChangeableOpening(tx, clubId, before, opens);
    await tx.manager.update(
      AccessDelivery,
      { id: deliveryId },
      {
        name: input.name === undefined ? before.name : tidyName(input.name),
        ...openingOf(opens),
        free: input.free ?? before.free,
        accessDays: input.access_days === undefined ? before.accessDays : input.access_days || null,
        updatedAt: now,
      },
    );
    return findDelivery(tx, clubId, deliveryId);
  });
}

/** Archives a delivery, so that it cannot be granted any more. A second call changes nothing. @throws DomainError not_found */
export async function archiveDelivery(
  { db }: DatabaseDeps,
  clubId: Id,
  deliveryId: Id,
  now: Date,
): Promise<DeliveryRecord> {
  return db.transaction((tx) => setArchived(tx, clubId, deliveryId, true, now));
}

/** Makes an archived delivery grantable again. A delivery that is not archived stays as it is. @throws DomainError not_found */
export async function unarchiveDelivery(
  { db }: DatabaseDeps,
  clubId: Id,
  deliveryId: Id,
  now: Date,
): Promise<DeliveryRecord> {
  return db.transaction((tx) => setArchived(tx, clubId, deliveryId, false, now));
}

async function setArchived(
  tx: Transaction,
  clubId: Id,
  deliveryId: Id,
  archived: boolean,
  now: Date,
): Promise<DeliveryRecord> {
  const before = await lockDelivery(tx, clubId, deliveryId);
  if ((before.archivedAt !== null) === archived) return presentDelivery(before);
  await tx.manager.update(AccessDelivery, { id: deliveryId }, { archivedAt: archived ? now : null, updatedAt: now });
  return findDelivery(tx, clubId, deliveryId);
}

async function readDelivery(db: Queries, clubId: Id, deliveryId: Id, lock = sql``): Promise<DeliveryRow> {
  const delivery = await db.one<DeliveryRow>(
    sql`SELECT ${deliveryColumns} FROM access_deliveries WHERE id = ${deliveryId} AND club_id = ${clubId} ${lock}`,
  );
  if (!delivery) throw notFound('delivery');
  return delivery;
}

/**
 * Locks the delivery's row until the transaction ends. Other changes and grants of the delivery (`lockDeliveryForShare`) wait until then.
 * @throws DomainError not_found
 */
function lockDelivery(tx: Transaction, clubId: Id, deliveryId: Id): Promise<DeliveryRow> {
  return readDelivery(tx, clubId, deliveryId, sql`FOR NO KEY UPDATE`);
}

/** Reads a delivery for a grant, with a shared lock until the transaction ends. @throws DomainError not_found */
export function lockDeliveryForShare(tx: Transaction, clubId: Id, deliveryId: Id): Promise<DeliveryRow> {
  return readDelivery(tx, clubId, deliveryId, sql`FOR SHARE`);
}

/**
 * Returns an SQL condition on `access_deliveries delivery`. It is true if a sign-up or a claimed link may grant the delivery without an
 * administrator. The delivery must not be archived. If its access ends with a cohort, the cohort must not have ended.
 */
export function grantable(now: Date): Sql {
  return sql`delivery.archived_at IS NULL AND NOT EXISTS (
    SELECT FROM cohorts cohort
     WHERE cohort.id = delivery.cohort_id AND cohort.ends_at <= ${now} AND delivery.access_days IS NULL)`;
}

/** @throws DomainError not_found if the club does not have one of the deliveries */
export async function requireDeliveries(tx: Transaction, clubId: Id, deliveryIds: readonly Id[]): Promise<void> {
  const missing = await tx.one(sql`SELECT 1 FROM unnest(${deliveryIds}::uuid[]) AS given (id)
      WHERE NOT EXISTS (SELECT FROM access_deliveries delivery WHERE delivery.id = given.id AND delivery.club_id = ${clubId}) LIMIT 1`);
  if (missing) throw notFound('delivery');
}

function openedId(opens: OpeningRow): Id {
  switch (opens.kind) {
    case 'course':
      return opens.courseId;
    case 'agent':
      return opens.agentId;
    case 'repository':
      return opens.repositoryId;
    case 'space':
      return opens.spaceId;
  }
}

/**
 * @throws DomainError not_found if the club does not have the course, agent, repository or space, or the course does not have the cohort
 */
async function requireOpening(tx: Transaction, clubId: Id, opens: OpeningRow): Promise<void> {
  const id = openedId(opens);
  if (!(await tx.manager.exists(openable[opens.kind], { where: { id, clubId } }))) throw notFound(opens.kind);
  if (opens.kind === 'course' && opens.cohortId !== null) await lockCohortForShare(tx, opens.courseId, opens.cohortId);
}

async function requireChangeableOpening(
  tx: Transaction,
  clubId: Id,
  before: OpeningRow & { id: Id },
  opens: OpeningRow,
): Promise<void> {
  await requireOpening(tx, clubId, opens);
  if (isDeepStrictEqual(openingOf(opens), openingOf(before))) return;
  const enrollments = await tx.rows(
    sql`SELECT 1 FROM enrollments WHERE delivery_id = ${before.id} AND revoked_reason IS DISTINCT FROM 'removal' LIMIT 1`,
  );
  if (enrollments.length > 0)
    throw new DomainError('in_use', 'Students are enrolled by this delivery, so it cannot open something else.');
}
