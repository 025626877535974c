/** Tests that each migration only expands the schema, or states the version that it needs. */
import { expect } from 'chai';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isContraction } from '../../entities/contraction.ts';
import { createDataSource } from '../../entities/data-source.ts';
import { Secret } from '../../platform/core/secret.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { noticed } from './migration-kinds.ts';

/** At the time of this migration and earlier ones, each deployment stopped the service, so they need no check. */
const last = 'WebhookPartitions1795700000000';
const timeOf = (name: string) => Number(/\d{13}$/.exec(name)?.[0]);

const of = (text: string, transaction?: false): MigrationInterface & { transaction?: boolean } => ({
  ...(transaction === false && { transaction }),
  up: (queryRunner: QueryRunner) => queryRunner.query(text) as Promise<void>,
  down: () => Promise.resolve(),
});

describe('migrations', () => {
  const url = new Secret('postgres://nobody@127.0.0.1:9/none');
  let all: readonly (new () => MigrationInterface)[];
  before('read the list', () => {
    all = createDataSource({ url, poolSize: 1 }, 'club-test').options.migrations as unknown as typeof all;
  });

  it('do not disturb older processes, or state the version that the processes must have', async () => {
    const later = all.filter(({ name }) => timeOf(name) > timeOf(last)).map((Migration) => new Migration());
    expect(later.length).to.be.at.least(1);
    await eachCase(later, async (migration) => {
      if (isContraction(migration)) expect(migration.needs).to.match(/^\d+\.\d+\.\d+$/);
      else expect(await noticed(migration), migration.constructor.name).to.deep.equal([]);
    });
  });

  it('are harmless if they only add to the schema', async () => {
    const harmless = [
      'CREATE TABLE "a" ("id" uuid NOT NULL REFERENCES clubs); CREATE UNIQUE INDEX "a_x" ON "a" ("id"); ALTER TABLE "a" ADD "n" integer NOT NULL',
      'ALTER TABLE "clubs" ADD "n" integer',
      'ALTER TABLE "clubs" ADD "n" numeric(10, 2) NOT NULL DEFAULT 0, ADD COLUMN "m" text',
      'ALTER TABLE clubs ADD CONSTRAINT c CHECK (n > 0) NOT VALID',
      'ALTER TABLE clubs VALIDATE CONSTRAINT c',
      'ALTER TABLE clubs ALTER COLUMN n DROP NOT NULL',
      'CREATE INDEX IF NOT EXISTS "p_n" ON ONLY "p" ("n"); ALTER INDEX "p_n" ATTACH PARTITION "p_1_n"',
      'CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN DELETE FROM clubs; DROP TABLE x; RETURN NEW; END $$; CREATE TRIGGER t AFTER INSERT ON clubs EXECUTE FUNCTION f()',
    ];
    await eachCase(harmless, async (text) => expect(await noticed(of(text))).to.deep.equal([]));
    const wider =
      'ALTER TABLE a DROP CONSTRAINT c; ALTER TABLE a ADD CONSTRAINT c CHECK (n > 0) NOT VALID; ALTER TABLE a VALIDATE CONSTRAINT c';
    expect(await noticed(of(wider))).to.deep.equal([]);
    const anew = 'DROP INDEX CONCURRENTLY IF EXISTS "c_n"; CREATE INDEX CONCURRENTLY "c_n" ON "clubs" ("n")';
    expect(await noticed(of(anew, false))).to.deep.equal([]);
  });

  it('are not harmless if they remove, rename, rewrite a table or hold a lock', async () => {
    const unknown = 'it is not known to be harmless';
    const cases = [
      ['DROP TABLE "a"', unknown],
      ['DROP INDEX "a"', unknown],
      ['DROP INDEX CONCURRENTLY IF EXISTS "a"', unknown],
      ['TRUNCATE a', unknown],
      ['UPDATE clubs SET n = 1', unknown],
      ['DELETE FROM clubs', unknown],
      ['LOCK TABLE clubs', unknown],
      ['ALTER TABLE clubs DROP COLUMN n', unknown],
      ['ALTER TABLE clubs ADD "m" text, DROP "n"', unknown],
      ['ALTER TABLE clubs RENAME COLUMN n TO m', unknown],
      ['ALTER TABLE clubs RENAME TO b', unknown],
      ['ALTER TABLE clubs ALTER COLUMN n TYPE bigint', unknown],
      ['ALTER TABLE clubs ALTER COLUMN n SET NOT NULL', unknown],
      ['ALTER TABLE clubs DROP CONSTRAINT c', unknown],
      ['ALTER TABLE clubs ADD CONSTRAINT c CHECK (n > 0)', unknown],
      ['ALTER TABLE clubs ADD n integer NOT NULL', 'older processes write no value: give it a default'],
      [
        'ALTER TABLE clubs ADD n uuid DEFAULT gen_random_uuid()',
        'it writes the whole table anew: the default must be constant',
      ],
      ['ALTER TABLE clubs ADD n bigserial', 'it writes the whole table anew: the default must be constant'],
      ['ALTER TABLE clubs ADD n uuid REFERENCES students', 'it looks at every row: add the constraint NOT VALID'],
      ['CREATE INDEX c_n ON clubs (n)', 'it keeps others from writing: build it CONCURRENTLY'],
      ['CREATE INDEX CONCURRENTLY c_n ON clubs (n)', 'CONCURRENTLY needs a migration with transaction = false'],
    ] as const;
    await eachCase(cases, async ([text, reason]) =>
      expect(await noticed(of(text))).to.deep.equal([`${text}: ${reason}`]),
    );
  });
});
