/** The sender of a club's campaigns and automations: its name, its address and its rate. */
import { Check, Column, Entity, OneToOne, JoinColumn, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';
import { oneOf } from '../one-of.ts';
import { trackings, type Tracking } from './values.ts';

@Entity('mail_senders')
@Check('mail_senders_tracking', oneOf('tracking', trackings))
@Check('mail_senders_rate', 'mails_per_minute > 0')
export class MailSender {
  @PrimaryColumn({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'text' })
  fromName: string;

  @Column({ type: 'text', nullable: true })
  replyTo: string | null;

  /** The lines of the postal address in the footer of every mail. */
  @Column({ type: 'text' })
  postalAddress: string;

  @Column({ type: 'text', default: 'all' })
  tracking: Tracking;

  @Column({ type: 'integer', default: 600 })
  mailsPerMinute: number;

  /**
   * The number of mails that may be sent immediately. It is the current level of a token bucket, which is filled at the rate
   * `mails_per_minute`.
   */
  @Column({ type: 'double precision', default: 0 })
  allowance: number;

  /** The time at which the bucket was last updated. */
  @Column({ type: 'timestamptz' })
  allowanceAt: Date;

  @Column({ type: 'timestamptz' })
  updatedAt: Date;

  @OneToOne(() => Club, { onDelete: 'CASCADE' })
  @JoinColumn()
  club: Relation<Club>;
}
