/**
 * The PDF of a certificate. It is drawn once per version, and stored in the private bucket as long as the certificate may be printed
 * (DEC-56).
 */
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Database, Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import type { RemainsOfPerson } from '../../questions.ts';
import { findPrintedLook, type PrintedLook } from '../../branding/printed-look.ts';
import { logoSize, readLook } from './logo.ts';
import { drawCertificate } from './pdf-work.ts';
import type { CertificateRow } from './reads.ts';

export interface CertificateFileDeps {
  db: Database;
  storage: Pick<ObjectStore, 'put' | 'read' | 'stream' | 'remove'>;
}

/** Raise this number with each change that makes certificates look different. */
const drawing = 3;
/** A PDF has about 40 KB. A larger PDF is not stored and is drawn each time. */
const maxBytes = 1_024 * 1_024;
/**
 * The maximum time that a process needs to write a file. While a file is being erased, another process may still write it. So the file is
 * erased again after this time.
 */
const putMs = 5 * 60_000;

/**
 * Draws the certificate with the club's current look (DEC-186). If the store cannot be reached, the PDF is drawn without the logo and is
 * not stored.
 * @returns the bytes of the PDF. They are always the same for the same certificate and look
 */
export async function printCertificate(
  deps: CertificateFileDeps,
  certificate: CertificateRow,
  now: Date,
): Promise<Buffer> {
  const { clubId } = certificate;
  const look = await findPrintedLook(deps.db, clubId, logoSize);
  const key = keyOf(certificate, look);
  const storedPdf = await deps.storage.read(key, 0, maxBytes).catch(() => undefined);
  if (storedPdf && storedPdf.length > 0) return storedPdf;
  const { isComplete, ...drawn } = await readLook(deps.storage, clubId, look);
  const bytes = await drawCertificate({ clubId }, { ...certificate, ...drawn });
  if (isComplete && bytes.length < maxBytes) await keep(deps, certificate, key, bytes, now).catch(() => undefined);
  return bytes;
}

/** The key depends on all printed data. This includes the club's time zone, colour and logo, which can change without a new version. */
function keyOf(certificate: CertificateRow, { accentColor, logo }: PrintedLook): string {
  const { id, code, studentName, courseTitle, clubName, language, timeZone, lessonCount, hours, version } = certificate;
  const { clubId, issuedAt, completedAt, verifyUrl } = certificate;
  const content = [
    drawing,
    code,
    studentName,
    courseTitle,
    clubName,
    language,
    timeZone,
    lessonCount,
    hours,
    version,
    issuedAt,
    accentColor,
    logo?.key ?? null,
  ];
  const digest = createHash('sha256').update(JSON.stringify([...content, completedAt, verifyUrl]));
  return `certificates/${clubId}/${id}/${version}-${digest.digest('hex').slice(0, 32)}.pdf`;
}

/**
 * Stores the file, unless the certificate was withdrawn, revoked or reissued while it was being drawn. The transaction locks the
 * certificate. So a withdrawal, a revocation or a reissue commits either before or after this transaction.
 */
async function keep(
  { db, storage }: CertificateFileDeps,
  { id, version }: CertificateRow,
  key: string,
  bytes: Buffer,
  now: Date,
): Promise<void> {
  const mayKeep = await db.transaction(async (tx) => {
    const valid = await tx.one(sql`
      SELECT FROM certificates WHERE id = ${id} AND version = ${version} AND withdrawn_at IS NULL AND revoked_at IS NULL FOR SHARE`);
    if (!valid) return false;
    await tx.run(
      sql`UPDATE certificate_files SET erases_at = ${now} WHERE certificate_id = ${id} AND object_key <> ${key} AND erases_at IS NULL`,
    );
    await tx.run(sql`
      INSERT INTO certificate_files (object_key, certificate_id, put_at) VALUES (${key}, ${id}, ${now})
      ON CONFLICT (object_key) DO UPDATE SET put_at = ${now}, erases_at = NULL`);
    return true;
  });
  if (mayKeep) await storage.put(key, 'application/pdf', Readable.from([bytes]));
}

/** Marks the files of withdrawn, revoked or reissued certificates for erasure by upkeep. The caller has changed the rows. */
export async function dropFilesOf(
  tx: Transaction,
  certificates: { id: Id } | { studentId: Id },
  now: Date,
): Promise<void> {
  const of =
    'id' in certificates
      ? sql`certificate_id = ${certificates.id}`
      : sql`certificate_id IN (SELECT id FROM certificates WHERE student_id = ${certificates.studentId})`;
  await tx.run(sql`UPDATE certificate_files SET erases_at = ${now} WHERE ${of} AND erases_at IS NULL`);
}

/**
 * One round erases at most `erasedARound` files, and starts no further file after `roundMs`. The step that runs the round has a time limit
 * of one minute.
 */
const erasedARound = 200;
const roundMs = 10_000;

/**
 * Erases the files that are due, and again later if another process may still write them. The next round retries what the bucket did not
 * erase.
 */
export async function eraseDueFiles(
  { db, storage }: CertificateFileDeps,
  now: Date,
): Promise<{ erased: number; more: boolean }> {
  const due = await db.rows<{ key: string }>(sql`
    SELECT object_key AS key FROM certificate_files WHERE erases_at <= ${now} ORDER BY erases_at LIMIT ${erasedARound}`);
  const ends = performance.now() + roundMs;
  const putEnds = sql`put_at + ${putMs} * interval '1 millisecond'`;
  let erased = 0;
  for (const { key } of due) {
    if (performance.now() > ends) return { erased, more: true };
    const isErased = await storage.remove(key).then(
      () => true,
      () => false,
    );
    if (!isErased) continue;
    erased += 1;
    await db.run(
      sql`DELETE FROM certificate_files WHERE object_key = ${key} AND erases_at <= ${now} AND ${putEnds} <= ${now}`,
    );
    await db.run(
      sql`UPDATE certificate_files SET erases_at = ${putEnds} WHERE object_key = ${key} AND erases_at <= ${now}`,
    );
  }
  return { erased, more: erased === erasedARound };
}

/** Counts the PDFs of a removed student that the bucket has not erased yet (ERS-23). */
export const countFilesOfPerson: RemainsOfPerson = async ({ db }, { subjectId }) => {
  const row = await db.one<{ files: number }>(sql`
    SELECT count(*)::int AS files FROM certificate_files
      JOIN certificates certificate ON certificate.id = certificate_id WHERE certificate.student_id = ${subjectId}`);
  return { files: row?.files ?? 0 };
};
