/** The number of wrong one-time codes of an account on a day, over all codes (DEC-61). */
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/**
 * A row counts for an account, or for an account and a network. Each day begins at zero. An address without an account has a row, too.
 * Rows are deleted when their day is over.
 */
@Entity('code_failure_counts')
export class CodeFailureCount {
  /** Keyed hash of club and address, and of the network. Earlier releases wrote the hash of the address alone. */
  @PrimaryColumn({ type: 'bytea', primaryKeyConstraintName: 'code_failure_counts_key' })
  addressKey: Buffer;

  /** In UTC. */
  @Column({ type: 'date' })
  @Index('code_failure_counts_day')
  day: string;

  @Column({ type: 'integer' })
  failures: number;
}
