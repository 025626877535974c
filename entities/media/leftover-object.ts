/** What is still in the store, and no file has it any more: it is erased when nobody can be reading it (MED-27). */
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** Without a reference to club or file: what they leave is erased, too. */
@Entity('leftover_objects')
@Index('leftover_objects_erases_at', ['erasesAt'])
export class LeftoverObject {
  /** The renditions stand beside it. */
  @PrimaryColumn({ type: 'text' })
  objectKey: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'timestamptz' })
  erasesAt: Date;

  /** An upload may arrive there until then, so it is erased once more; null: none can. */
  @Column({ type: 'timestamptz', nullable: true })
  arrivesUntil: Date | null;
}
