/** Processes a batch of rows in one transaction. It writes students, facts, access and invitations, and moves the cursor of the import. */
import { bulk } from '../../../entities/facts/values.ts';
import { lockSeats, requireStudents } from '../../billing/allowances.ts';
import { StaleRead, type Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import { recordFacts } from '../../../platform/engine/facts.ts';
import { findOrOpenAccounts, type FoundAccount } from '../../identity/accounts/many-accounts.ts';
import { requestInvitations } from '../../mail/transactional/requests.ts';
import { readRemovedAddresses } from './removals.ts';
import type { FileRow, Person, ReadRows } from './rows.ts';
import type { ImportColumn, ImportError, RowCode, RowOutcome } from '../../../entities/access/values.ts';
import { hasImportEnded, importRules } from './imports.policy.ts';
import { endImport, lockImport, wakeNextImport, type StoredImport } from './imports.ts';
import { grantToMany } from '../enrollments/many-grants.ts';

export interface Batch extends Pick<ReadRows, 'rows' | 'nextRow'> {
  cursor: number;
  /** The error that ends the import, if the import cannot read the file beyond these rows. */
  failsWith?: ImportError;
}

interface ReportRow {
  row: number;
  outcome: RowOutcome;
  code?: RowCode;
  column?: ImportColumn;
  studentId?: Id;
  /** Whether the student gets an invitation, if the import sends invitations. */
  isNew?: boolean;
}

/**
 * Processes the batch, unless another step has processed it or the import has ended. The transaction locks the import before it locks any
 * student. So a cancellation waits for the batch, and no transaction with the lock of a student waits for an import.
 * @param before the import as it was when the batch was read
 * @throws StaleRead if a student was removed during the batch
 * @throws DomainError not_found, delivery_archived or invalid_request, when a delivery of the import can no longer be granted
 */
export async function recordBatch(
  tx: Transaction,
  vault: Vault,
  before: StoredImport,
  batch: Batch,
  now: Date,
): Promise<void> {
  const lockedImport = await lockImport(tx, before.id);
  if (lockedImport.cursor !== before.cursor || hasImportEnded(lockedImport.status)) return;

  const people = firstRowOfEach(batch.rows);
  const isRemoved = await readRemovedAddresses(tx, vault, lockedImport.id);
  const accepted = [...people.values()].map(({ person }) => person).filter(({ email }) => !isRemoved(email));
  const accounts = await findOrOpenAccounts(
    tx,
    vault,
    lockedImport.clubId,
    accepted,
    (seats) => reserveSeats(tx, lockedImport.clubId, seats, now),
    now,
  );
  // Another transaction may have removed a student while this transaction waited for its locks. This transaction now holds the locks of the
  // import and of the students, so it sees the record of such a removal.
  const isRemovedSince = await readRemovedAddresses(tx, vault, lockedImport.id);
  if (accepted.some(({ email }) => isRemovedSince(email))) throw new StaleRead();
  const reportedStudents = await reportedBefore(tx, lockedImport.id, accounts);
  const report = batch.rows.map((row) => reportOn(row, people, accounts, reportedStudents, isRemoved));
  await grantAndInvite(tx, vault, lockedImport, report, people, now);
  await insertReport(tx, lockedImport.id, report);
  await advance(tx, lockedImport, batch, report, now);
  if (batch.failsWith !== undefined)
    await endImport(tx, lockedImport, { status: 'failed', error: batch.failsWith }, now);
  else if (batch.cursor === lockedImport.fileBytes) await wakeNextImport(tx, lockedImport, now);
}

/** Reserves the requested seats, up to the limit of the club's plan. @returns their number */
async function reserveSeats(tx: Transaction, clubId: Id, requested: number, now: Date): Promise<number> {
  const isAvailable = (seats: number) =>
    lockSeats(tx, clubId, seats).then(
      () => true,
      (error: unknown) => {
        if (error instanceof DomainError && error.code === 'limit_reached') return false;
        throw error;
      },
    );
  let [fits, exceeds] = [0, requested + 1];
  for (let seats = requested; fits + 1 < exceeds; seats = Math.floor((fits + exceeds) / 2)) {
    if (await isAvailable(seats)) fits = seats;
    else exceeds = seats;
  }
  if (fits > 0) await requireStudents(tx, clubId, fits, now);
  return fits;
}

type PersonRow = FileRow & { person: Person };

function firstRowOfEach(rows: readonly FileRow[]): Map<string, PersonRow> {
  const people = new Map<string, PersonRow>();
  for (const row of rows) {
    if ('person' in row && !people.has(row.person.email)) people.set(row.person.email, row);
  }
  return people;
}

/** @returns the students of this batch that an earlier row of the file has already named */
async function reportedBefore(
  tx: Transaction,
  importId: Id,
  accounts: ReadonlyMap<string, FoundAccount>,
): Promise<ReadonlySet<Id>> {
  const ids = [...accounts.values()].filter(({ created }) => !created).map(({ studentId }) => studentId);
  const rows = await tx.rows<{ id: Id }>(
    sql`SELECT student_id AS id FROM student_import_rows WHERE import_id = ${importId} AND student_id = ANY (${ids})`,
  );
  return new Set(rows.map(({ id }) => id));
}

function reportOn(
  row: FileRow,
  people: ReadonlyMap<string, PersonRow>,
  accounts: ReadonlyMap<string, FoundAccount>,
  known: ReadonlySet<Id>,
  isRemoved: (email: string) => boolean,
): ReportRow {
  if ('fault' in row) return { row: row.row, outcome: 'failed', ...row.fault };
  if (isRemoved(row.person.email)) return { row: row.row, outcome: 'failed', code: 'student_removed' };
  const account = accounts.get(row.person.email);
  const isFirst = people.get(row.person.email)?.row === row.row;
  if (!account) return { row: row.row, outcome: 'failed', code: 'limit_reached' };
  if (!isFirst || known.has(account.studentId)) {
    return { row: row.row, outcome: 'failed', code: 'duplicate', column: 'email' };
  }
  const { studentId, created, takenOver } = account;
  return { row: row.row, outcome: created ? 'created' : 'existing', studentId, isNew: created || takenOver };
}

async function grantAndInvite(
  tx: Transaction,
  vault: Vault,
  { clubId, deliveryIds, invite }: StoredImport,
  report: readonly ReportRow[],
  people: ReadonlyMap<string, PersonRow>,
  now: Date,
): Promise<void> {
  const studentsOf = (outcome: RowOutcome) =>
    report.flatMap((row) => (row.outcome === outcome && row.studentId !== undefined ? [row.studentId] : []));
  const created = studentsOf('created');
  await recordFacts(
    tx,
    created.map((studentId) => ({ clubId, type: 'student.created', studentId, occurredAt: now, priority: bulk })),
  );
  const studentIds = [...created, ...studentsOf('existing')];
  await grantToMany(tx, { clubId, studentIds, deliveryIds, source: 'import' }, now);
  if (!invite) return;
  const emails = new Map([...people.values()].map(({ row, person }) => [row, person.email]));
  const invited = report.flatMap(({ row, isNew, studentId }) => {
    const email = emails.get(row);
    return isNew === true && studentId !== undefined && email !== undefined ? [{ studentId, email }] : [];
  });
  await requestInvitations(tx, vault, clubId, invited, now);
}

async function insertReport(tx: Transaction, importId: Id, report: readonly ReportRow[]): Promise<void> {
  await tx.run(sql`INSERT INTO student_import_rows (import_id, row, outcome, code, column_name, student_id)
     SELECT ${importId}, (one->>'row')::int, one->>'outcome', one->>'code', one->>'column', (one->>'studentId')::uuid
       FROM jsonb_array_elements(${JSON.stringify(report)}::jsonb) AS one`);
}

async function advance(
  tx: Transaction,
  stored: StoredImport,
  { cursor, nextRow }: Batch,
  report: readonly ReportRow[],
  now: Date,
): Promise<void> {
  const countOf = (outcome: RowOutcome) => report.filter((row) => row.outcome === outcome).length;
  const isLast = cursor === stored.fileBytes;
  await tx.run(sql`UPDATE student_imports
        SET status = CASE WHEN ${isLast} THEN 'completed' ELSE 'running' END, started_at = coalesce(started_at, ${now}),
            completed_at = CASE WHEN ${isLast} THEN ${now}::timestamptz END, cursor = ${cursor}, next_row = ${nextRow},
            created_count = created_count + ${countOf('created')}, existing_count = existing_count + ${countOf('existing')}, failed_count = failed_count + ${countOf('failed')},
            rows_total = CASE WHEN ${isLast} THEN created_count + existing_count + failed_count + ${report.length} ELSE rows_total END,
            looks_at = ${new Date(now.getTime() + importRules.silenceMs)}
      WHERE id = ${stored.id}`);
}
