/** The number of students of a club. Triggers on `students` write it. Exact only together with the changes that are not rolled up yet. */
import { Column, Entity, PrimaryColumn } from 'typeorm';

/** No foreign key to the club, because its removal is counted too. A transaction that adds students holds the row's lock until the commit. */
@Entity('club_student_counts')
export class ClubStudentCount {
  @PrimaryColumn({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'integer' })
  students: number;
}
