/** The exports that students ask for themselves. A session must prove the person (EXP-4). */
import type { RecordOf } from '../../../contract/contract.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import type { DatabaseDeps } from '../../deps.ts';
import { emailNotVerified } from '../../identity/accounts/credentials.ts';
import { openerOfStudentSession } from '../../identity/sessions/sessions.ts';
import type { StudentIdentity } from '../../identity/student-identity.ts';
import { RefusalToPerson } from '../../language/refusal.ts';
import { readExport, requestExport } from './exports.ts';

type Owner = Pick<StudentIdentity, 'id' | 'clubId' | 'verifiedAt'>;

/**
 * @param token of the request's session
 * @throws DomainError email_not_verified, fresh_factor_required (a link of the club's site opened the session)
 */
export async function requestOwnExport(
  { db }: DatabaseDeps,
  { id, clubId, verifiedAt }: Owner,
  token: string,
  now: Date,
): Promise<RecordOf<'StudentDataExport'>> {
  if (verifiedAt === null) throw emailNotVerified();
  // A program with the scope `sessions:write` can open such a session for any student, and programs may not export (EXP-4).
  if (!(await provesPerson(db, token))) throw new RefusalToPerson('fresh_factor_required', 'refusal.unauthenticated');
  return requestExport({ db }, { clubId, studentId: id }, { kind: 'student', id }, now);
}

/** @returns the export, with its address only if the session may ask for an export @throws DomainError not_found */
export async function readOwnExport(
  { db, storage }: { db: Queries; storage: ObjectStore },
  { id, clubId, verifiedAt }: Owner,
  token: string,
  exportId: Id,
): Promise<RecordOf<'StudentDataExport'>> {
  const mayDownload = verifiedAt !== null && (await provesPerson(db, token));
  return readExport({ db, storage }, { clubId, studentId: id }, exportId, mayDownload);
}

const provesPerson = async (db: Queries, token: string): Promise<boolean> =>
  (await openerOfStudentSession(db, token)) !== 'link';
