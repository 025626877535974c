/** The daily mail of a club's spaces on one date of the club's zone: who has been looked at, and until when it goes out (COMM-17). */
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
  /** `<club>/<date>`: a club has one for each date, and its run is named by it. */
  @PrimaryColumn({ type: 'text' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  /** Of the club's zone, as it was when the digest began. */
  @Column({ type: 'date' })
  date: string;

  /** Posts that were published later wait for the next digest. */
  @Column({ type: 'timestamptz' })
  takesUntil: Date;

  /** The end of the date: what has not gone out by then does not go out. */
  @Column({ type: 'timestamptz' })
  endsAt: Date;

  /** Students who wanted it when it began. */
  @Column({ type: 'integer' })
  members: number;

  /** Pages of members that have been looked at. */
  @Column({ type: 'integer', default: 0 })
  pages: number;

  /** The student up to whom members have been looked at, in the order of ids; null before the first page. */
  @Column({ type: 'uuid', nullable: true })
  pagedTo: string | null;

  /** Every member has been looked at. */
  @Column({ type: 'boolean', default: false })
  allPaged: boolean;

  /** Students for whom there was something new. */
  @Column({ type: 'integer', default: 0 })
  recipients: number;

  /** When its run looks next; null once it has ended. */
  @Column({ type: 'timestamptz', nullable: true })
  looksAt: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  endedAt: Date | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;
}
