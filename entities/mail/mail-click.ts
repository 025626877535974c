/** The click of a person or a machine on a link of a mail. The row is stored for 90 days (CAMP-13). */
import { Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Mail } from './mail.ts';

@Entity('mail_clicks')
@Index('mail_clicks_at', ['at'])
export class MailClick {
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'mail_clicks_key' })
  mailId: string;

  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'mail_clicks_key' })
  linkId: string;

  @PrimaryColumn({ type: 'boolean', primaryKeyConstraintName: 'mail_clicks_key' })
  machine: boolean;

  @Column({ type: 'timestamptz' })
  at: Date;

  @Column({ type: 'timestamptz' })
  lastAt: Date;

  @ManyToOne(() => Mail, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'mail_id', foreignKeyConstraintName: 'mail_clicks_mail' })
  mail: Relation<Mail>;
}
