/** The mapping of a product to a delivery. A sale of the product grants this delivery. */
import { Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { AccessDelivery } from '../access/access-delivery.ts';
import { Product } from './product.ts';

@Entity('product_deliveries')
export class ProductDelivery {
  @PrimaryColumn({ type: 'uuid' })
  productId: string;

  @PrimaryColumn({ type: 'uuid' })
  @Index('product_deliveries_delivery')
  deliveryId: string;

  @ManyToOne(() => Product, { onDelete: 'CASCADE' })
  product: Relation<Product>;

  @ManyToOne(() => AccessDelivery)
  delivery: Relation<AccessDelivery>;
}
