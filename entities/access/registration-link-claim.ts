/** A student's claim of a registration link, with the granted deliveries. A student can claim a link only once. */
import { Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Student } from '../identity/student.ts';
import { RegistrationLink } from './registration-link.ts';

@Entity('registration_link_claims')
export class RegistrationLinkClaim {
  @PrimaryColumn({ type: 'uuid' })
  linkId: string;

  @PrimaryColumn({ type: 'uuid' })
  @Index('registration_link_claims_student')
  studentId: string;

  /** The deliveries of the link at the time of the claim. If the student claims the link again, the answer contains the same deliveries. */
  @Column({ type: 'uuid', array: true })
  deliveryIds: string[];

  @Column({ type: 'timestamptz' })
  claimedAt: Date;

  @ManyToOne(() => RegistrationLink, { onDelete: 'CASCADE' })
  link: Relation<RegistrationLink>;

  @ManyToOne(() => Student, { onDelete: 'CASCADE' })
  student: Relation<Student>;
}
