/**
 * A product entitlement that a club sells or grants. It opens one record: a course (with or without a cohort), an AI agent, a repository or
 * a space. A *webhook* delivery is something else.
 */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import type { DeliveryKind } from './values.ts';
import { Agent } from '../agents/agent.ts';
import { Club } from '../clubs/club.ts';
import { CommunitySpace } from '../community/community-space.ts';
import { Course } from '../learning/course.ts';
import { Repository } from '../repositories/repository.ts';
import { Cohort } from './cohort.ts';

@Entity('access_deliveries')
@Check(
  'access_deliveries_kind',
  `num_nonnulls(course_id, agent_id, repository_id, space_id) = 1 AND (kind = 'course' OR cohort_id IS NULL) AND CASE kind WHEN 'course' THEN course_id WHEN 'agent' THEN agent_id WHEN 'repository' THEN repository_id WHEN 'space' THEN space_id END IS NOT NULL`,
)
@Check('access_deliveries_days', 'access_days > 0')
@Index('access_deliveries_club', ['clubId', 'createdAt', 'id'])
@Index('access_deliveries_free', ['clubId'], { where: 'free AND archived_at IS NULL' })
export class AccessDelivery {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'text' })
  name: string;

  /** The kind of the record that the delivery opens. Each kind has its own column below. */
  @Column({ type: 'text' })
  kind: DeliveryKind;

  @Column({ type: 'uuid', nullable: true })
  @Index('access_deliveries_course')
  courseId: string | null;

  @Column({ type: 'uuid', nullable: true })
  @Index('access_deliveries_agent')
  agentId: string | null;

  @Column({ type: 'uuid', nullable: true })
  @Index('access_deliveries_repository')
  repositoryId: string | null;

  @Column({ type: 'uuid', nullable: true })
  @Index('access_deliveries_space')
  spaceId: string | null;

  @Column({ type: 'uuid', nullable: true })
  @Index('access_deliveries_cohort')
  cohortId: string | null;

  /** Whether each student who signs up gets the delivery. */
  @Column({ type: 'boolean', default: false })
  free: boolean;

  /** The duration of a student's access in days, from the beginning of the access. Null if the access has no end. */
  @Column({ type: 'integer', nullable: true })
  accessDays: number | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz' })
  updatedAt: Date;

  /** The time of the last write of the row, never before `updatedAt` (CUR-6). A trigger writes it. */
  @Column({ type: 'timestamptz', default: () => 'now()', select: false, insert: false, update: false })
  changedAt: Date;

  /** The time at which the delivery was archived. Since then, only sales grant the delivery. Existing access stays. */
  @Column({ type: 'timestamptz', nullable: true })
  archivedAt: Date | null;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;

  @ManyToOne(() => Course)
  course: Relation<Course>;

  @ManyToOne(() => Agent)
  agent: Relation<Agent>;

  @ManyToOne(() => Repository)
  repository: Relation<Repository>;

  @ManyToOne(() => CommunitySpace)
  space: Relation<CommunitySpace>;

  @ManyToOne(() => Cohort)
  cohort: Relation<Cohort>;
}
