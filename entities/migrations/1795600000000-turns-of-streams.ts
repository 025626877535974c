/**
 * New indexes find facts and wakes by priority, and then by club. No index contains the lease. So a lease changes no index, and Postgres
 * can write the new version of the row into the same page. Autovacuum starts at a fixed number of dead rows. Relays and writers of older
 * releases do not know the new primary keys, so you must stop these processes first.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const tables = ['facts', 'wakes'] as const;
const orders = { facts: '"due_at", "seq"', wakes: '"due_at"' } as const;
const keys = {
  facts: {
    before: `"PK_b35218a44dc3d5dd2f0f54d7e3f" PRIMARY KEY ("id")`,
    now: `"PK_d8b35142dabc8ac7d97815cf51d" PRIMARY KEY ("club_id", "id")`,
  },
  wakes: {
    before: `"PK_88686e8d50f743f6d7e0972d202" PRIMARY KEY ("workflow_id")`,
    now: `"PK_a6f9d98c1b14d1c3f9e1164c14c" PRIMARY KEY ("club_id", "workflow_id")`,
  },
} as const;
const nameOf = (key: string) => key.split(' ')[0];

const up = tables.map(
  (table) => `
  DROP INDEX "${table}_leased";
  DROP INDEX "${table}_turn";
  CREATE INDEX "${table}_turn" ON "${table}"  ("priority", "club_id", ${orders[table]});
  ALTER TABLE "${table}" DROP CONSTRAINT ${nameOf(keys[table].before)}, ADD CONSTRAINT ${keys[table].now};
  ALTER TABLE "${table}" SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
`,
);
const down = tables.map(
  (table) => `
  ALTER TABLE "${table}" DROP CONSTRAINT ${nameOf(keys[table].now)}, ADD CONSTRAINT ${keys[table].before};
  ALTER TABLE "${table}" RESET (fillfactor, autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold);
  DROP INDEX "${table}_turn";
  CREATE INDEX "${table}_turn" ON "${table}"  ("club_id", "priority", ${orders[table]});
  CREATE INDEX "${table}_leased" ON "${table}"  ("club_id", "lease_until") WHERE lease_until IS NOT NULL;
`,
);

export class TurnsOfStreams1795600000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    for (const statements of up) await queryRunner.query(statements);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const statements of down) await queryRunner.query(statements);
  }
}
