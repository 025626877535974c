/**
 * One e-mail of a campaign, an automation or a daily digest to one student, and its outcome. Each mail is sent automatically at most once.
 * If the outcome is unknown, the status is `failed`, with a code that says so.
 */
import { Check, Column, Entity, Generated, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Campaign } from '../campaigns/campaign.ts';
import { SpaceDigest } from '../community/space-digest.ts';
import { Student } from '../identity/student.ts';
import { oneOf } from '../one-of.ts';
import { recipientStatuses, skipReasons, type RecipientStatus, type SkipReason } from './values.ts';

@Entity('mails')
@Check('mails_status', oneOf('status', recipientStatuses))
@Check('mails_skip_reason', oneOf('skip_reason', skipReasons))
@Check('mails_skipped', `(status = 'skipped') = (skip_reason IS NOT NULL)`)
@Check('mails_cause', 'num_nonnulls(campaign_id, run_id, digest_id) = 1 AND (run_id IS NULL) = (step_id IS NULL)')
@Index('mails_campaign_student', ['campaignId', 'studentId'], { unique: true, where: 'campaign_id IS NOT NULL' })
@Index('mails_campaign_address', ['campaignId', 'addressKey'], {
  unique: true,
  where: 'campaign_id IS NOT NULL AND address_key IS NOT NULL',
})
@Index('mails_run_step', ['runId', 'stepId'], { unique: true, where: 'run_id IS NOT NULL' })
@Index('mails_campaign', ['campaignId', 'seq'], { where: 'campaign_id IS NOT NULL' })
@Index('mails_campaign_status', ['campaignId', 'status', 'seq'], { where: 'campaign_id IS NOT NULL' })
@Index('mails_campaign_due', ['campaignId', 'nextAttemptAt', 'seq'], {
  where: `campaign_id IS NOT NULL AND status = 'pending'`,
})
@Index('mails_campaign_open', ['campaignId', 'leaseUntil'], {
  where: `campaign_id IS NOT NULL AND status = 'sending'`,
})
@Index('mails_run_open', ['leaseUntil'], { where: `run_id IS NOT NULL AND status = 'sending'` })
@Index('mails_digest_student', ['digestId', 'studentId'], { unique: true, where: 'digest_id IS NOT NULL' })
@Index('mails_digest_due', ['digestId', 'nextAttemptAt', 'seq'], {
  where: `digest_id IS NOT NULL AND status = 'pending'`,
})
@Index('mails_digest_open', ['digestId', 'leaseUntil'], { where: `digest_id IS NOT NULL AND status = 'sending'` })
@Index('mails_student', ['studentId'])
@Index('mails_provider', ['providerId'], { where: 'provider_id IS NOT NULL' })
export class Mail {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  /** The position of the mail in the order of its campaign. It is fixed when the audience is frozen. */
  @Column({ type: 'bigint' })
  @Generated('increment')
  seq: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'uuid', nullable: true })
  campaignId: string | null;

  /** The run of an automation that sends the mail. */
  @Column({ type: 'uuid', nullable: true })
  runId: string | null;

  @Column({ type: 'text', nullable: true })
  stepId: string | null;

  /** The daily digest to which the mail belongs. A student gets one mail per digest. */
  @Column({ type: 'text', nullable: true })
  digestId: string | null;

  @Column({ type: 'uuid' })
  studentId: string;

  /** The student's name when the row was written; `Removed student` after a removal. */
  @Column({ type: 'text' })
  studentName: string;

  /**
   * The student's address when the row was written. A claim replaces this value by the current address. It is empty after the removal of
   * the student.
   */
  @Column({ type: 'text' })
  studentEmail: string;

  /** The keyed hash of the address for which the mail was claimed. */
  @Column({ type: 'bytea', nullable: true })
  addressKey: Buffer | null;

  @Column({ type: 'text', default: 'pending' })
  status: RecipientStatus;

  @Column({ type: 'text', nullable: true })
  skipReason: SkipReason | null;

  /** The reason for the outcome: a code, and the mail server's reply without addresses. */
  @Column({ type: 'text', nullable: true })
  lastError: string | null;

  @Column({ type: 'smallint', default: 0 })
  attemptCount: number;

  @Column({ type: 'timestamptz' })
  nextAttemptAt: Date;

  @Column({ type: 'integer', default: 0 })
  fence: number;

  /** The id that the mail server gave the mail in its reply. */
  @Column({ type: 'text', nullable: true })
  providerId: string | null;

  /** The end of the lease for the hand-over of the mail, by the database's clock. */
  @Column({ type: 'timestamptz', nullable: true })
  leaseUntil: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  sentAt: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  deliveredAt: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  bouncedAt: Date | null;

  /** The time at which the mail was first refused temporarily. */
  @Column({ type: 'timestamptz', nullable: true })
  softBouncedAt: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  complainedAt: Date | null;

  /** The time at which a person first opened the mail. */
  @Column({ type: 'timestamptz', nullable: true })
  openedAt: Date | null;

  /** The time at which a person first followed a link of the mail. */
  @Column({ type: 'timestamptz', nullable: true })
  clickedAt: Date | null;

  /** The time at which a machine first loaded the tracking picture. */
  @Column({ type: 'timestamptz', nullable: true })
  machineOpenedAt: Date | null;

  /** The time at which a machine first followed a link of the mail. */
  @Column({ type: 'timestamptz', nullable: true })
  machineClickedAt: Date | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @ManyToOne(() => Campaign, { onDelete: 'CASCADE' })
  campaign: Relation<Campaign>;

  @ManyToOne(() => SpaceDigest, { onDelete: 'CASCADE' })
  digest: Relation<SpaceDigest>;

  @ManyToOne(() => Student, { onDelete: 'CASCADE' })
  student: Relation<Student>;
}
