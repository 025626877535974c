/** Reads the students of a club and their deliveries. */
import type { Id } from '../../../platform/core/ids.ts';
import { testDatabase } from '../stack/database.ts';

interface MemberOfClub {
  email: string;
  name: string;
  /** Without the deliveries of revoked or superseded enrollments. */
  deliveries: string[];
}

/** The club's students by address, with their deliveries. */
export async function studentsOf(club: { id: Id }): Promise<MemberOfClub[]> {
  const source = await testDatabase();
  return source.query<MemberOfClub[]>(
    `SELECT email, name, ARRAY (SELECT delivery_id::text FROM enrollments
                                 WHERE student_id = student.id AND revoked_at IS NULL AND superseded_at IS NULL ORDER BY 1) AS deliveries
       FROM students student WHERE club_id = $1 AND removed_at IS NULL ORDER BY email`,
    [club.id],
  );
}
