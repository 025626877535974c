/** The change of a club's student count by students who left. Triggers only add rows, so that no removal waits for another. */
import { Column, Entity, Generated, PrimaryColumn } from 'typeorm';

@Entity('club_student_changes')
export class ClubStudentChange {
  @PrimaryColumn({ type: 'uuid' })
  clubId: string;

  @PrimaryColumn({ type: 'bigint' })
  @Generated('increment')
  seq: string;

  @Column({ type: 'integer' })
  students: number;
}
