/** A delivery that gives students access to a mentorship. A mentorship without deliveries is open to every student. */
import { Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { AccessDelivery } from '../access/access-delivery.ts';
import { Mentorship } from './mentorship.ts';

@Entity('mentorship_deliveries')
export class MentorshipDelivery {
  @PrimaryColumn({ type: 'uuid' })
  mentorshipId: string;

  @PrimaryColumn({ type: 'uuid' })
  @Index('mentorship_deliveries_delivery')
  deliveryId: string;

  @ManyToOne(() => Mentorship, { onDelete: 'CASCADE' })
  mentorship: Relation<Mentorship>;

  @ManyToOne(() => AccessDelivery)
  delivery: Relation<AccessDelivery>;
}
