/**
 * The daily mail about a club's spaces, for one date in the club's time zone. The row also stores the progress of the sending (COMM-17).
 */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';

@Entity('space_digests')
@Check('space_digests_id', `id = club_id::text || '/' || to_char(date, 'YYYY-MM-DD')`)
@Check('space_digests_ended', '(ended_at IS NULL) = (looks_at IS NOT NULL)')
@Index('space_digests_club', ['clubId', 'date'], { unique: true })
@Index('space_digests_due', ['looksAt'], { where: 'looks_at IS NOT NULL' })
@Index('space_digests_over', ['endedAt'], { where: 'ended_at IS NOT NULL' })
export class SpaceDigest {
  /** `<club>/<date>`: a club has one digest for each date, and the digest's run has this name. */
  @PrimaryColumn({ type: 'text' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  /** The date in the club's zone at the beginning of the digest. */
  @Column({ type: 'date' })
  date: string;

  /** Posts that were published after this time wait for the next digest. */
  @Column({ type: 'timestamptz' })
  takesUntil: Date;

  /** The end of the date. Mails that were not sent before this time are skipped. */
  @Column({ type: 'timestamptz' })
  endsAt: Date;

  /** The number of students who wanted the mail when the digest began. */
  @Column({ type: 'integer' })
  members: number;

  /** The number of pages of members that were read. */
  @Column({ type: 'integer', default: 0 })
  pages: number;

  /** The last student that was read, in the order of ids. Null before the first page was read. */
  @Column({ type: 'uuid', nullable: true })
  pagedTo: string | null;

  @Column({ type: 'boolean', default: false })
  allPaged: boolean;

  /** The number of students with new posts. */
  @Column({ type: 'integer', default: 0 })
  recipients: number;

  /** The time at which the digest's run next checks the digest. Null after the end of the digest. */
  @Column({ type: 'timestamptz', nullable: true })
  looksAt: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  endedAt: Date | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;
}
