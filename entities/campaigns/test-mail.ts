/** A copy of a campaign's e-mail that a member of the club gets as a test. */
import { Check, Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';
import { Administrator } from '../identity/administrator.ts';
import { mailStatuses, type MailStatus } from '../mail/values.ts';
import { oneOf } from '../one-of.ts';
import { Campaign } from './campaign.ts';

@Entity('test_mails')
@Check('test_mails_status', oneOf('status', mailStatuses))
@Index('test_mails_campaign', ['campaignId', 'createdAt', 'id'])
@Index('test_mails_due', ['nextAttemptAt'], { where: `status = 'pending'` })
@Index('test_mails_all_of_club', ['clubId'])
export class TestMail {
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'test_mails_key' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'uuid' })
  campaignId: string;

  /** The recipient, who gets the mail at the address of the account. */
  @Column({ type: 'uuid' })
  administratorId: string;

  @Column({ type: 'text', default: 'pending' })
  status: MailStatus;

  /** The reason for the outcome: a code, or the mail server's reply without addresses. */
  @Column({ type: 'text', nullable: true })
  lastError: string | null;

  @Column({ type: 'smallint', default: 0 })
  attemptCount: number;

  @Column({ type: 'timestamptz' })
  nextAttemptAt: Date;

  @Column({ type: 'integer', default: 0 })
  fence: number;

  /** The end of the lease, by the database's clock. */
  @Column({ type: 'timestamptz', nullable: true })
  leaseUntil: Date | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz', nullable: true })
  sentAt: Date | null;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'club_id', foreignKeyConstraintName: 'test_mails_club' })
  club: Relation<Club>;

  @ManyToOne(() => Campaign, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'campaign_id', foreignKeyConstraintName: 'test_mails_of_campaign' })
  campaign: Relation<Campaign>;

  @ManyToOne(() => Administrator, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'administrator_id', foreignKeyConstraintName: 'test_mails_administrator' })
  administrator: Relation<Administrator>;
}
