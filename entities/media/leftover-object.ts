/** An object in the store that no file uses any more. It is erased when no reader can be using it (MED-27). */
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** No reference to club or file: their leftovers are erased, too. */
@Entity('leftover_objects')
@Index('leftover_objects_erases_at', ['erasesAt'])
export class LeftoverObject {
  /** The key of the object; its renditions are stored beside it. */
  @PrimaryColumn({ type: 'text' })
  objectKey: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'timestamptz' })
  erasesAt: Date;

  /** Until this time an upload may still arrive, so it is erased once more afterwards; null if no upload can arrive. */
  @Column({ type: 'timestamptz', nullable: true })
  arrivesUntil: Date | null;
}
