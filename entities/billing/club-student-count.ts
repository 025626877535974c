/**
 * The number of students of a club. Triggers on `students` write it. The number is exact only together with the changes that are not rolled
 * up yet.
 */
import { Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * The row has no foreign key to the club. When a club is removed, its students are still counted down in this table. A transaction that
 * adds students locks the row until it commits.
 */
@Entity('club_student_counts')
export class ClubStudentCount {
  @PrimaryColumn({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'integer' })
  students: number;
}
