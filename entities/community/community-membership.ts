/** The membership of a student in a space: current, former or banned (COMM-6). */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Student } from '../identity/student.ts';
import { CommunitySpace } from './community-space.ts';

@Entity('community_memberships')
@Check('community_memberships_stands', `(left_at IS NULL AND banned_at IS NULL) OR (NOT counted AND looks_at IS NULL)`)
@Check('community_memberships_digest_left', 'NOT (digest AND digest_left)')
@Index('community_memberships_digest', ['clubId', 'studentId'], { where: 'digest' })
@Index('community_memberships_members', ['spaceId', 'joinedAt', 'studentId'], {
  where: 'left_at IS NULL AND banned_at IS NULL',
})
@Index('community_memberships_banned', ['spaceId', 'bannedAt', 'studentId'], { where: 'banned_at IS NOT NULL' })
@Index('community_memberships_looks_at', ['looksAt'], { where: 'looks_at IS NOT NULL' })
export class CommunityMembership {
  @PrimaryColumn({ type: 'uuid' })
  spaceId: string;

  @PrimaryColumn({ type: 'uuid' })
  @Index('community_memberships_student')
  studentId: string;

  @Column({ type: 'uuid' })
  clubId: string;

  /** The time at which the student last joined the space. */
  @Column({ type: 'timestamptz' })
  joinedAt: Date;

  /** The time at which the student left or was removed. It becomes null only when the student joins again. */
  @Column({ type: 'timestamptz', nullable: true })
  leftAt: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  bannedAt: Date | null;

  /** The student has read the posts of the space up to this time. */
  @Column({ type: 'timestamptz' })
  readAt: Date;

  @Column({ type: 'boolean', default: false })
  muted: boolean;

  /** Whether the student wants the daily mail. */
  @Column({ type: 'boolean' })
  digest: boolean;

  /**
   * Whether the daily mail was on when the student unsubscribed from the daily mail of all spaces. It is switched on again when the student
   * subscribes again (CAMP-45).
   */
  @Column({ type: 'boolean', default: false })
  digestLeft: boolean;

  /**
   * Whether the space's `member_count` includes this membership. That is the case if the student is a member and had access at the last
   * check.
   */
  @Column({ type: 'boolean' })
  counted: boolean;

  /**
   * The next time at which the student's access to a private space begins or ends, according to the dates of the access. Null if no such
   * time exists.
   */
  @Column({ type: 'timestamptz', nullable: true })
  looksAt: Date | null;

  @ManyToOne(() => CommunitySpace, { onDelete: 'CASCADE' })
  space: Relation<CommunitySpace>;

  @ManyToOne(() => Student, { onDelete: 'CASCADE' })
  student: Relation<Student>;
}
