/** By how much students who left changed a club's count: only ever added, by triggers, so that nobody who leaves waits for others. */
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
