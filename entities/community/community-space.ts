/** A space of a club, in which students and administrators talk. */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';
import { oneOf } from '../one-of.ts';
import { spacePostings, type SpacePosting } from './values.ts';

@Entity('community_spaces')
@Check('community_spaces_posting', oneOf('posting', spacePostings))
@Index('community_spaces_club_public_id', ['clubId', 'publicId'], { unique: true })
@Index('community_spaces_fill', ['fillLooksAt'], { where: 'fill_looks_at IS NOT NULL' })
export class CommunitySpace {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  /** The name of the space in classroom URLs, unique in the club. */
  @Column({ type: 'text' })
  publicId: string;

  @Column({ type: 'text' })
  name: string;

  @Column({ type: 'text', nullable: true })
  description: string | null;

  @Column({ type: 'text', default: 'members' })
  posting: SpacePosting;

  /** Whether only students with access by an enrollment can read the space. */
  @Column({ type: 'boolean', default: false })
  private: boolean;

  /** Whether the space is hidden from students without access. */
  @Column({ type: 'boolean', default: false })
  hidden: boolean;

  /** Whether students who get access automatically become members. */
  @Column({ type: 'boolean', default: false })
  autoJoin: boolean;

  /** Whether new members get the daily mail. */
  @Column({ type: 'boolean', default: false })
  digestByDefault: boolean;

  /** The order in which students see the spaces. */
  @Column({ type: 'integer' })
  position: number;

  @Column({ type: 'timestamptz', nullable: true })
  archivedAt: Date | null;

  /**
   * A run updates the memberships of the space (COMM-9). This is the time at which the run next checks the space. Null if there is no run.
   */
  @Column({ type: 'timestamptz', nullable: true })
  fillLooksAt: Date | null;

  /** The last student that the run has processed, in the order of accounts. Null before the first student. */
  @Column({ type: 'uuid', nullable: true })
  fillAfter: string | null;

  /** An array of the transactions that were writing rows of students when the run began (ADR 31). Null before the run's first check. */
  @Column({ type: 'text', nullable: true })
  fillBarrier: string | null;

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
