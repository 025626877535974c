/** Counts a club's own mails on one day (UTC). Only mails that use the club's allowance of that day are counted (DEC-65). */
import { Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';

@Entity('club_mail_days')
export class ClubMailDay {
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'club_mail_days_key' })
  clubId: string;

  @PrimaryColumn({ type: 'date', primaryKeyConstraintName: 'club_mail_days_key' })
  @Index('club_mail_days_day')
  day: string;

  @Column({ type: 'integer' })
  mails: number;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'club_id', foreignKeyConstraintName: 'club_mail_days_club' })
  club: Relation<Club>;
}
