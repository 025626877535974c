/** An object in the store that no file uses any more. The object is erased as soon as no reader can still be reading it (MED-27). */
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** The row has no foreign key to a club or a file, because the leftovers of deleted clubs and files are erased too. */
@Entity('leftover_objects')
@Index('leftover_objects_erases_at', ['erasesAt'])
export class LeftoverObject {
  /** The key of the object. The keys of the object's renditions begin with this key. */
  @PrimaryColumn({ type: 'text' })
  objectKey: string;

  /** The club of the object. Null for a picture of an administrator, which belongs to no club. */
  @Column({ type: 'uuid', nullable: true })
  clubId: string | null;

  @Column({ type: 'timestamptz' })
  erasesAt: Date;

  /** The time until which an upload may still arrive. After this time, the object is erased once more. Null if no upload can arrive. */
  @Column({ type: 'timestamptz', nullable: true })
  arrivesUntil: Date | null;
}
