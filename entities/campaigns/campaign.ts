/** An e-mail to many students of a club, and how far it is. Its recipients are rows of `mails`. */
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

  /** For administrators; recipients never see it. */
  @Column({ type: 'text' })
  name: string;

  @Column({ type: 'text', default: 'draft' })
  status: CampaignStatus;

  /** What is sent, in the shape of the contract. A draft's may be incomplete. */
  @Column({ type: 'jsonb' })
  content: object;

  /** The condition that recipients meet, in the shape of the contract. */
  @Column({ type: 'jsonb' })
  audience: object;

  /** The minute of the club's day at which mails begin to go out, and the one at which they stop; null for the whole day. */
  @Column({ type: 'smallint', nullable: true })
  windowFrom: number | null;

  @Column({ type: 'smallint', nullable: true })
  windowTo: number | null;

  @Column({ type: 'text', nullable: true })
  pauseReason: PauseReason | null;

  /** When it is to begin; null for a draft. */
  @Column({ type: 'timestamptz', nullable: true })
  scheduledAt: Date | null;

  /** The e-mail as it was compiled when the recipients were frozen. */
  @Column({ type: 'jsonb', nullable: true })
  compiled: object | null;

  /** When the recipients were frozen. */
  @Column({ type: 'timestamptz', nullable: true })
  frozenAt: Date | null;

  /** How many were frozen. */
  @Column({ type: 'integer', default: 0 })
  recipients: number;

  /** When the last recipient was settled, or the campaign canceled. */
  @Column({ type: 'timestamptz', nullable: true })
  endedAt: Date | null;

  /** Refusals of the mail server since it accepted a mail last. */
  @Column({ type: 'integer', default: 0 })
  refusals: number;

  /** How many mails were sent when it was resumed after too many bounces or complaints: those are not judged again. */
  @Column({ type: 'integer', default: 0 })
  judgedSent: number;

  /** Hard bounces of that moment. */
  @Column({ type: 'integer', default: 0 })
  judgedBounced: number;

  /** Complaints of that moment. */
  @Column({ type: 'integer', default: 0 })
  judgedComplained: number;

  /** What its statistics were when its recipients' rows were removed, in the shape of the contract; null before. */
  @Column({ type: 'jsonb', nullable: true })
  finalStatistics: object | null;

  /** When the last of these rows was removed. */
  @Column({ type: 'timestamptz', nullable: true })
  rowsRemovedAt: Date | null;

  /** When its run has to act next; null while it has nothing to do. */
  @Column({ type: 'timestamptz', nullable: true })
  looksAt: Date | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz' })
  updatedAt: Date;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;
}
