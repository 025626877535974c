/**
 * The amount by which a club's student count falls because students left. Triggers only add rows to this table, so that removals never wait
 * for one another.
 */
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
