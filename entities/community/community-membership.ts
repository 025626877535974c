/** That a student is, was, or must not be a member of a space (COMM-6). */
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

  /** The last time. */
  @Column({ type: 'timestamptz' })
  joinedAt: Date;

  /** Since when the student is no member any more: left, or was removed. Only joining ends this. */
  @Column({ type: 'timestamptz', nullable: true })
  leftAt: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  bannedAt: Date | null;

  /** Up to when the student has read the space. */
  @Column({ type: 'timestamptz' })
  readAt: Date;

  @Column({ type: 'boolean', default: false })
  muted: boolean;

  /** Whether the student wants the daily mail. */
  @Column({ type: 'boolean' })
  digest: boolean;

  /** It was on when the student left the daily mail by its way out; who comes back has it on again (CAMP-45). */
  @Column({ type: 'boolean', default: false })
  digestLeft: boolean;

  /** Whether `member_count` counts it: the student is a member, and had access when the access was last looked at. */
  @Column({ type: 'boolean' })
  counted: boolean;

  /** When the access to a private space next begins or ends by itself; null where it does not. */
  @Column({ type: 'timestamptz', nullable: true })
  looksAt: Date | null;

  @ManyToOne(() => CommunitySpace, { onDelete: 'CASCADE' })
  space: Relation<CommunitySpace>;

  @ManyToOne(() => Student, { onDelete: 'CASCADE' })
  student: Relation<Student>;
}
