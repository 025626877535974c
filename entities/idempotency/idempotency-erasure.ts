/**
 * The number of removals of students in a club. If an answer was built before a removal, the request must not store the answer after the
 * removal (IDEM-6).
 */
import { Column, Entity, JoinColumn, OneToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';

@Entity('idempotency_erasures')
export class IdempotencyErasure {
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'idempotency_erasures_pkey' })
  clubId: string;

  @Column({ type: 'integer' })
  count: number;

  @OneToOne(() => Club, { onDelete: 'CASCADE' })
  @JoinColumn({ foreignKeyConstraintName: 'idempotency_erasures_club_fkey' })
  club: Relation<Club>;
}
