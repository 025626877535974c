/**
 * An address to which a club's campaigns, automations or digests are not sent. The row stays after the removal of the student. So after a
 * complaint no mail is sent, even if the account is opened again.
 */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';
import { oneOf } from '../one-of.ts';
import { suppressionReasons, type SuppressionReason } from './values.ts';

@Entity('mail_suppressions')
@Check('mail_suppressions_reason', oneOf('reason', suppressionReasons))
@Check(
  'mail_suppressions_says_something',
  'num_nonnulls(reason, left_campaigns_at, left_automations_at, left_digests_at) > 0',
)
@Index('mail_suppressions_club', ['clubId', 'createdAt', 'addressKey'])
export class MailSuppression {
  @PrimaryColumn({ type: 'uuid' })
  clubId: string;

  /** Keyed hash of the address. */
  @PrimaryColumn({ type: 'bytea' })
  addressKey: Buffer;

  /** The reason why no mail is sent. Null if the owner only unsubscribed from some kinds of mail. */
  @Column({ type: 'text', nullable: true })
  reason: SuppressionReason | null;

  /** True if only soft bounces led to the reason `bounce`. A delivery that is reported late then removes the reason. */
  @Column({ type: 'boolean', default: false })
  fromSoftBounces: boolean;

  /** The time at which the owner of the address unsubscribed from campaigns. */
  @Column({ type: 'timestamptz', nullable: true })
  leftCampaignsAt: Date | null;

  /** The time at which the owner of the address unsubscribed from automations. */
  @Column({ type: 'timestamptz', nullable: true })
  leftAutomationsAt: Date | null;

  /** The time at which the owner of the address unsubscribed from the daily mail of spaces. */
  @Column({ type: 'timestamptz', nullable: true })
  leftDigestsAt: Date | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;
}
