/** The store of student sessions. A token is valid while its row exists, so deleting the row ends the session. */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { oneOf } from '../one-of.ts';
import { Student } from './student.ts';
import { sessionOpeners, type SessionOpener } from './values.ts';

@Entity('student_sessions')
@Check('student_sessions_opened_by', oneOf('opened_by', sessionOpeners))
export class StudentSession {
  /** SHA-256 of the token. The token itself is not stored. */
  @PrimaryColumn({ type: 'bytea' })
  tokenHash: Buffer;

  @Column({ type: 'uuid' })
  @Index('student_sessions_student')
  studentId: string;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz' })
  @Index('student_sessions_expiry')
  expiresAt: Date;

  @Column({ type: 'text', default: 'password' })
  openedBy: SessionOpener;

  /** A short label of the device, such as `Firefox (Windows)`. Null if the client is unknown. */
  @Column({ type: 'text', nullable: true })
  device: string | null;

  /** The network of the client at the sign-in: the /24 of an IPv4 address, the /48 of an IPv6 address. Null if it is unknown. */
  @Column({ type: 'text', nullable: true })
  network: string | null;

  /** The time of the last use, exact to some minutes. Null before the first recorded use. */
  @Column({ type: 'timestamptz', nullable: true })
  lastUsedAt: Date | null;

  @ManyToOne(() => Student, { onDelete: 'CASCADE' })
  student: Relation<Student>;
}
