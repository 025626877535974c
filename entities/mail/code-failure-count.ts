/** How many one-time codes of an account were wrong on a day, whatever codes they were meant for (DEC-61). */
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/**
 * A row counts for an account, or for an account and a network. It starts again each day; an address without account has one, too. It is
 * removed when its day is over.
 */
@Entity('code_failure_counts')
export class CodeFailureCount {
  /** Keyed hash of club and address, and of the network. Releases of before wrote the hash of the address alone. */
  @PrimaryColumn({ type: 'bytea', primaryKeyConstraintName: 'code_failure_counts_key' })
  addressKey: Buffer;

  /** In UTC. */
  @Column({ type: 'date' })
  @Index('code_failure_counts_day')
  day: string;

  @Column({ type: 'integer' })
  failures: number;
}
