/** Hides a club whose erasure has begun. Every look-up by an id, a slug, a token or a key treats such a club as missing (ERS-5). */
import type { Id } from '../platform/core/ids.ts';
import { sql, type Sql } from '../platform/infra/postgres/sql.ts';

/**
 * @param clubId the id, or SQL for the id
 * @returns an SQL condition: the club exists, and its erasure has not begun
 */
export const isOpenClub = (clubId: Id | Sql): Sql =>
  sql`EXISTS (SELECT FROM clubs open_club WHERE open_club.id = ${clubId} AND open_club.erasing_at IS NULL)`;
