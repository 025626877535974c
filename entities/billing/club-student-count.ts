/** How many students a club has: kept by triggers on `students`, and exact only together with the changes not yet rolled up into it. */
import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Without a reference to the club: its removal is counted too. Whoever adds students holds the row until the commit. */
@Entity('club_student_counts')
export class ClubStudentCount {
  @PrimaryColumn({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'integer' })
  students: number;
}
