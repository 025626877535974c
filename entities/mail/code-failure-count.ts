/** How many one-time codes of an address were wrong on a day, whatever codes they were meant for (DEC-61). */
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** One row an address, begun anew with each day; of an address without account, too. Removed when its day is over. */
@Entity('code_failure_counts')
export class CodeFailureCount {
  /** Keyed hash of the address. */
  @PrimaryColumn({ type: 'bytea', primaryKeyConstraintName: 'code_failure_counts_key' })
  addressKey: Buffer;

  /** In UTC. */
  @Column({ type: 'date' })
  @Index('code_failure_counts_day')
  day: string;

  @Column({ type: 'integer' })
  failures: number;
}
