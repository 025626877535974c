/** The number of wrong one-time codes that were entered for an account on one day, for all its codes together (DEC-61). */
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/**
 * Each row counts the wrong codes of one account, or of one account from one network. On each day, the count begins at zero. An address
 * without an account can have a row, too. Each row is deleted after the end of its day.
 */
@Entity('code_failure_counts')
export class CodeFailureCount {
  /** The keyed hash of the club, the address and, if present, the network. Earlier releases wrote the hash of the address alone. */
  @PrimaryColumn({ type: 'bytea', primaryKeyConstraintName: 'code_failure_counts_key' })
  addressKey: Buffer;

  /** In UTC. */
  @Column({ type: 'date' })
  @Index('code_failure_counts_day')
  day: string;

  @Column({ type: 'integer' })
  failures: number;
}
