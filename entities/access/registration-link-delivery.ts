/** A delivery that a registration link grants. */
import { Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { AccessDelivery } from './access-delivery.ts';
import { RegistrationLink } from './registration-link.ts';

@Entity('registration_link_deliveries')
export class RegistrationLinkDelivery {
  @PrimaryColumn({ type: 'uuid' })
  linkId: string;

  @PrimaryColumn({ type: 'uuid' })
  @Index('registration_link_deliveries_delivery')
  deliveryId: string;

  @ManyToOne(() => RegistrationLink, { onDelete: 'CASCADE' })
  link: Relation<RegistrationLink>;

  @ManyToOne(() => AccessDelivery)
  delivery: Relation<AccessDelivery>;
}
