/**
 * A student's access to a delivery, and the cause of this access. Each sale writes its own row. All other causes share one row: for them, a
 * student has at most one current row for each delivery.
 */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import {
  saleSources,
  revocationReasons,
  enrollmentSources,
  type EnrollmentSource,
  type RevocationReason,
} from './values.ts';
import { Student } from '../identity/student.ts';
import { Cohort } from './cohort.ts';
import { AccessDelivery } from './access-delivery.ts';
import { oneOf } from '../one-of.ts';

@Entity('enrollments')
@Index('enrollments_changed', ['clubId', 'changedAt'])
@Check('enrollments_source', oneOf('source', enrollmentSources))
@Check('enrollments_revoked', `(revoked_at IS NULL) = (revoked_reason IS NULL)`)
@Check('enrollments_revoked_reason', oneOf('revoked_reason', revocationReasons))
@Check('enrollments_origin', `(origin_id IS NOT NULL) = (${oneOf('source', saleSources)})`)
@Index('enrollments_of_sale', ['originId', 'deliveryId'], { unique: true, where: 'origin_id IS NOT NULL' })
@Index('enrollments_current', ['studentId', 'deliveryId'], {
  unique: true,
  where: 'origin_id IS NULL AND revoked_at IS NULL AND superseded_at IS NULL',
})
@Index('enrollments_student', ['studentId', 'createdAt', 'id'])
@Index('enrollments_club', ['clubId', 'createdAt', 'id'])
@Index('enrollments_club_valid', ['clubId', 'createdAt', 'id'], { where: 'revoked_at IS NULL' })
@Index('enrollments_club_revoked', ['clubId', 'createdAt', 'id'], {
  where: `revoked_at IS NOT NULL AND revoked_reason IS DISTINCT FROM 'removal'`,
})
@Index('enrollments_delivery', ['deliveryId', 'createdAt', 'id'])
@Index('enrollments_delivery_valid', ['deliveryId', 'createdAt', 'id'], { where: 'revoked_at IS NULL' })
@Index('enrollments_delivery_revoked', ['deliveryId', 'createdAt', 'id'], {
  where: `revoked_at IS NOT NULL AND revoked_reason IS DISTINCT FROM 'removal'`,
})
export class Enrollment {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'uuid' })
  studentId: string;

  @Column({ type: 'uuid' })
  deliveryId: string;

  @Column({ type: 'uuid', nullable: true })
  @Index('enrollments_cohort')
  cohortId: string | null;

  @Column({ type: 'text' })
  source: EnrollmentSource;

  /** The purchase or the subscription that is the cause of the enrollment. */
  @Column({ type: 'uuid', nullable: true })
  originId: string | null;

  @Column({ type: 'timestamptz' })
  startsAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  endsAt: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  revokedAt: Date | null;

  /** `removal` also hides the enrollment. It means that the enrollment or its student was removed. */
  @Column({ type: 'text', nullable: true })
  revokedReason: RevocationReason | null;

  /** The time at which a newer enrollment replaced this enrollment, which had already ended. */
  @Column({ type: 'timestamptz', nullable: true })
  supersededAt: Date | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz' })
  updatedAt: Date;

  /** The time of the last change of the row that a list shows (CUR-6). A trigger writes it. */
  @Column({ type: 'timestamptz', default: () => 'now()', select: false, insert: false, update: false })
  changedAt: Date;

  @ManyToOne(() => Student, { onDelete: 'CASCADE' })
  student: Relation<Student>;

  @ManyToOne(() => AccessDelivery)
  delivery: Relation<AccessDelivery>;

  @ManyToOne(() => Cohort)
  cohort: Relation<Cohort>;
}
