/** The ceiling for bookings: direct inserts of sessions. */
import type { Pool } from 'pg';
import { newId, type Id } from '../../platform/core/ids.ts';

/** Times are in ISO 8601, so that the row can be sent as JSON. */
export interface SessionRow {
  clubId: Id;
  mentorshipId: Id;
  mentorId: Id;
  studentId: Id;
  startsAt: string;
  endsAt: string;
}

/** Inserts the columns that a booking writes, in a transaction of its own. */
export async function insertAlone(pool: Pool, row: SessionRow): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    await client.query({
      name: 'insert_session',
      text: `INSERT INTO mentorship_sessions (id, club_id, mentorship_id, mentor_id, student_id, starts_at, ends_at, busy_until,
                                              booked_at, looks_at, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $7, $8, $8, $8, $8)`,
      values: [
        newId(),
        row.clubId,
        row.mentorshipId,
        row.mentorId,
        row.studentId,
        row.startsAt,
        row.endsAt,
        new Date(),
      ],
    });
    await client.query('COMMIT');
  } finally {
    client.release();
  }
}
