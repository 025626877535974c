/**
 * A counter of a rate limit, in the form that the package rate-limiter-flexible needs. The table is unlogged, because the counters need not
 * survive a crash.
 */
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

@Entity('rate_limit_counters')
export class RateLimitCounter {
  @PrimaryColumn({ type: 'varchar', length: 255 })
  key: string;

  @Column({ type: 'integer', default: 0 })
  points: number;

  /** Unix milliseconds. */
  @Column({ type: 'bigint', nullable: true })
  @Index('rate_limit_counters_expiry')
  expire: string | null;
}
