/**
 * The network of a sign-up, as a hash that is kept for an hour. It is used to limit the pending sign-ups of a club that come from one
 * network (DEC-62).
 */
import { Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';
import { Student } from './student.ts';

@Entity('sign_up_networks')
@Index('sign_up_networks_of_club', ['clubId', 'networkKey'])
export class SignUpNetwork {
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'sign_up_networks_key' })
  studentId: string;

  @Column({ type: 'uuid' })
  clubId: string;

  /** The keyed hash of the club and the network. */
  @Column({ type: 'bytea' })
  networkKey: Buffer;

  @Column({ type: 'timestamptz' })
  @Index('sign_up_networks_created')
  createdAt: Date;

  @ManyToOne(() => Student, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'student_id', foreignKeyConstraintName: 'sign_up_networks_student' })
  student: Relation<Student>;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'club_id', foreignKeyConstraintName: 'sign_up_networks_club' })
  club: Relation<Club>;
}
