/** A migration that takes something away: not while a process runs that still reads it (docs/how-to/upgrade.md). */
import type { MigrationInterface } from 'typeorm';

export interface Contraction extends MigrationInterface {
  /** The first version that does without what is removed, such as `0.4.0`. */
  readonly needs: string;
}

/** @returns whether it takes something away */
export function isContraction(migration: MigrationInterface): migration is Contraction {
  return 'needs' in migration;
}
