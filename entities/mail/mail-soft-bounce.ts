/** A temporary refusal of a mail. The row is stored for 90 days, to detect addresses that never accept a mail (CAMP-15). */
import { Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Mail } from './mail.ts';

@Entity('mail_soft_bounces')
export class MailSoftBounce {
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'mail_soft_bounces_key' })
  mailId: string;

  @PrimaryColumn({ type: 'timestamptz', primaryKeyConstraintName: 'mail_soft_bounces_key' })
  @Index('mail_soft_bounces_at')
  at: Date;

  @ManyToOne(() => Mail, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'mail_id', foreignKeyConstraintName: 'mail_soft_bounces_mail' })
  mail: Relation<Mail>;
}
