/**
 * A migration that removes a part of the schema, such as a column. It waits until no running process reads that part any more
 * (docs/how-to/upgrade.md).
 */
import type { MigrationInterface } from 'typeorm';

export interface Contraction extends MigrationInterface {
  /** The first version that works without the removed part of the schema, such as `0.4.0`. */
  readonly needs: string;
}

export function isContraction(migration: MigrationInterface): migration is Contraction {
  return 'needs' in migration;
}
