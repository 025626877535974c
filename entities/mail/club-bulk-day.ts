/**
 * For one day (UTC), the number of mails of a club's campaigns and automations. A mail counts on the day on which its hand-over to the mail
 * server began.
 */
import { Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';

@Entity('club_bulk_days')
export class ClubBulkDay {
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'club_bulk_days_key' })
  clubId: string;

  @PrimaryColumn({ type: 'date', primaryKeyConstraintName: 'club_bulk_days_key' })
  @Index('club_bulk_days_day')
  day: string;

  @Column({ type: 'integer' })
  mails: number;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'club_id', foreignKeyConstraintName: 'club_bulk_days_club' })
  club: Relation<Club>;
}
