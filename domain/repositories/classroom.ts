/**
 * Repositories as a student sees them: the published repositories that are accessible now. An unpublished, an inaccessible and an unknown
 * repository get the same answer (REPO-4).
 */
import type { RecordOf } from '../../contract/contract.ts';
import type { Page, PageRequest } from '../../platform/infra/postgres/lists/page.ts';
import { sql, type Sql } from '../../platform/infra/postgres/sql.ts';
import { hasAccessToRepository } from '../access/enrollments/entitlement.ts';
import type { Reader } from '../identity/student-ref.ts';
import { listShown, showOne, type Showing } from './showing.ts';

/** A condition on `repositories repository`. It is true if the student can open the repository. */
export const visibleTo = ({ clubId, id }: Reader, now: Date): Sql => sql`repository.club_id = ${clubId}
  AND repository.status = 'published' AND ${hasAccessToRepository(sql`repository.id`, id, now)}`;

/** @returns a page of the repositories that the student can open, newest first */
export async function listOwnRepositories(
  showing: Showing,
  reader: Reader,
  page: PageRequest,
  now: Date,
): Promise<Page<RecordOf<'RepositorySummary'>>> {
  return listShown(showing, page, visibleTo(reader, now), 'student');
}

/** @throws DomainError not_found, with the same answer for each repository that the student cannot open */
export async function openRepository(
  showing: Showing,
  reader: Reader,
  publicId: string,
  now: Date,
): Promise<RecordOf<'Repository'>> {
  return showOne(showing, sql`${visibleTo(reader, now)} AND repository.public_id = ${publicId}`, 'student');
}
