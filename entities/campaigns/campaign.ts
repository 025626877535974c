/** An e-mail to many students of a club, with its progress. Its recipients are rows of `mails`. */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';
import { oneOf } from '../one-of.ts';
import { campaignStatuses, pauseReasons, type CampaignStatus, type PauseReason } from './values.ts';

@Entity('campaigns')
@Check('campaigns_status', oneOf('status', campaignStatuses))
@Check('campaigns_paused', `(status = 'paused') = (pause_reason IS NOT NULL)`)
@Check('campaigns_pause_reason', oneOf('pause_reason', pauseReasons))
@Check('campaigns_window', `(window_from IS NULL) = (window_to IS NULL)`)
@Check('campaigns_minutes', 'window_from BETWEEN 0 AND 1439 AND window_to BETWEEN 0 AND 1439')
@Index('campaigns_club', ['clubId', 'createdAt', 'id'])
@Index('campaigns_club_status', ['clubId', 'status', 'createdAt', 'id'])
@Index('campaigns_ended', ['endedAt'], { where: 'ended_at IS NOT NULL AND rows_removed_at IS NULL' })
@Index('campaigns_due', ['looksAt'], { where: 'looks_at IS NOT NULL' })
export class Campaign {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  /** The name of the campaign for administrators. Recipients never see it. */
  @Column({ type: 'text' })
  name: string;

  @Column({ type: 'text', default: 'draft' })
  status: CampaignStatus;

  /** The e-mail in the form of the contract. The e-mail of a draft may be incomplete. */
  @Column({ type: 'jsonb' })
  content: object;

  /** The condition that every recipient must meet, in the form of the contract. */
  @Column({ type: 'jsonb' })
  audience: object;

  /** The times of the club's day at which sending begins and stops, in minutes from midnight. Null if the campaign may send all day. */
  @Column({ type: 'smallint', nullable: true })
  windowFrom: number | null;

  @Column({ type: 'smallint', nullable: true })
  windowTo: number | null;

  @Column({ type: 'text', nullable: true })
  pauseReason: PauseReason | null;

  /** Null for a draft. */
  @Column({ type: 'timestamptz', nullable: true })
  scheduledAt: Date | null;

  /** The compiled e-mail. It is set when the recipients are frozen. */
  @Column({ type: 'jsonb', nullable: true })
  compiled: object | null;

  @Column({ type: 'timestamptz', nullable: true })
  frozenAt: Date | null;

  @Column({ type: 'integer', default: 0 })
  recipients: number;

  /** The time at which the last recipient got a final status, or the campaign was canceled. */
  @Column({ type: 'timestamptz', nullable: true })
  endedAt: Date | null;

  /** The number of refusals of the mail server since it last accepted a mail. */
  @Column({ type: 'integer', default: 0 })
  refusals: number;

  /**
   * The number of mails that the campaign had sent when it was resumed after too many bounces or complaints. Only later mails count for the
   * rates of bounces and complaints.
   */
  @Column({ type: 'integer', default: 0 })
  judgedSent: number;

  /** The number of hard bounces at the time when the campaign was resumed. */
  @Column({ type: 'integer', default: 0 })
  judgedBounced: number;

  /** The number of complaints at the time when the campaign was resumed. */
  @Column({ type: 'integer', default: 0 })
  judgedComplained: number;

  /** The statistics at the time when the rows of the recipients were removed, in the form of the contract. Null before that time. */
  @Column({ type: 'jsonb', nullable: true })
  finalStatistics: object | null;

  /** The time at which the last row of a recipient was removed. */
  @Column({ type: 'timestamptz', nullable: true })
  rowsRemovedAt: Date | null;

  /** The time at which the campaign's run next checks the campaign. Null if no work is due. */
  @Column({ type: 'timestamptz', nullable: true })
  looksAt: Date | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz' })
  updatedAt: Date;

  /** The time of the last write of the row, never before `updatedAt` (CUR-6). A trigger writes it. */
  @Column({ type: 'timestamptz', default: () => 'now()', select: false, insert: false, update: false })
  changedAt: Date;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;
}
