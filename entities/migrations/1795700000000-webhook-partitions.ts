/**
 * Stores webhooks in partitions, so that old rows are removed as whole tables (ADR 38). The existing tables become the oldest partitions,
 * and bodies are copied out of events. The service must be stopped during this migration. The more bodies exist, the longer the migration
 * takes. It is the last migration that may need a stop.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** `id_at` returns the smallest id of a time: ids begin with the time in milliseconds, in 48 bits. */
const functions = `
  CREATE OR REPLACE FUNCTION pg_temp.id_at(at timestamptz) RETURNS uuid LANGUAGE sql AS $$
    SELECT rpad(lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0'), 32, '0')::uuid
  $$;
  CREATE OR REPLACE FUNCTION pg_temp.week_of(at timestamptz) RETURNS timestamptz LANGUAGE sql AS $$
    SELECT date_trunc('week', at, 'UTC')
  $$;
  CREATE OR REPLACE FUNCTION pg_temp.day_of(at timestamptz) RETURNS timestamptz LANGUAGE sql AS $$
    SELECT date_trunc('day', at, 'UTC')
  $$;
`;

/** Creates the partitions from a time until four weeks from now. Each partition is named by its first day. */
const partitioned = (table: string, span: 'week' | 'day', bound: (at: string) => string, from: string) => `
  DO $$
  DECLARE
    first timestamptz := pg_temp.${span}_of(${from});
  BEGIN
    WHILE first <= now() + interval '28 days' LOOP
      EXECUTE format('CREATE TABLE %I PARTITION OF ${table} FOR VALUES FROM (%L) TO (%L)',
        '${table}_' || to_char(first AT TIME ZONE 'UTC', 'YYYYMMDD'), ${bound('first')}, ${bound(`(first + interval '1 ${span}')`)});
      first := first + interval '1 ${span}';
    END LOOP;
  END $$;
  CREATE TABLE ${table}_default PARTITION OF ${table} DEFAULT;
`;
const byId = (at: string) => `pg_temp.id_at(${at})`;
const byTime = (at: string) => at;

/** Renames the old table and its indexes, because the new table needs their names. */
const setAside = (table: string) => `
  DO $$
  DECLARE
    index record;
  BEGIN
    FOR index IN SELECT indexname FROM pg_indexes WHERE schemaname = 'public' AND tablename = '${table}' LOOP
      EXECUTE format('ALTER INDEX %I RENAME TO %I', index.indexname, index.indexname || '_oldest');
    END LOOP;
  END $$;
  ALTER TABLE ${table} RENAME TO ${table}_oldest;
`;

/**
 * Moves the later rows of the old table to the new table. Then makes the old table the oldest partition, or drops the old table if it is
 * empty.
 */
const attached = (table: string, key: string, bound: string) => `
  WITH ahead AS (DELETE FROM ${table}_oldest WHERE ${key} >= ${bound} RETURNING *) INSERT INTO ${table} SELECT * FROM ahead;
  DO $$
  BEGIN
    IF EXISTS (SELECT FROM ${table}_oldest) THEN
      EXECUTE format('ALTER TABLE ${table} ATTACH PARTITION ${table}_oldest FOR VALUES FROM (MINVALUE) TO (%L)', ${bound});
    ELSE
      DROP TABLE ${table}_oldest;
    END IF;
  END $$;
`;

/** The first week and the first day after the time of the old tables. */
const nextWeek = `pg_temp.week_of(now()) + interval '1 week'`;
const nextDay = `pg_temp.day_of(now()) + interval '1 day'`;
/** If the old table is empty, partitions begin with the current week or day. */
const since = (table: string, next: string, current: string) =>
  `CASE WHEN EXISTS (SELECT FROM ${table}_oldest) THEN ${next} ELSE ${current} END`;

const deliveryIndexes = `
  CREATE INDEX "webhook_deliveries_history" ON "webhook_deliveries" ("endpoint_id", "created_at", "id");
  CREATE INDEX "webhook_deliveries_types" ON "webhook_deliveries" ("endpoint_id", "event_type", "status", "created_at", "id");
  CREATE INDEX "webhook_deliveries_statuses" ON "webhook_deliveries" ("endpoint_id", "status", "created_at", "id");
  CREATE INDEX "webhook_deliveries_student" ON "webhook_deliveries" ("student_id");
  CREATE INDEX "webhook_deliveries_pending" ON "webhook_deliveries" ("endpoint_id", "parked_at", "next_attempt_at") WHERE status = 'pending';
  CREATE INDEX "webhook_deliveries_parked" ON "webhook_deliveries" ("endpoint_id", "next_attempt_at", "id")
    WHERE parked_at IS NOT NULL AND requested IS DISTINCT FROM 'recovery';
  CREATE INDEX "webhook_deliveries_recovering" ON "webhook_deliveries" ("endpoint_id", "next_attempt_at", "id")
    WHERE parked_at IS NOT NULL AND requested = 'recovery';
  CREATE INDEX "webhook_deliveries_asked" ON "webhook_deliveries" ("endpoint_id")
    WHERE status <> 'pending' AND (requested IS NOT NULL OR in_flight IS NOT NULL);
  CREATE INDEX "webhook_deliveries_overdue" ON "webhook_deliveries" ("next_attempt_at")
    WHERE parked_at IS NULL AND (status = 'pending' OR requested IS NOT NULL OR in_flight IS NOT NULL);
  CREATE INDEX "webhook_deliveries_direct" ON "webhook_deliveries" ("id") WHERE direct;
`;

const countingInsertsAndDeletes = `
  CREATE TRIGGER "webhook_deliveries_inserted" AFTER INSERT ON "webhook_deliveries"
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "webhook_deliveries_counted"();
  CREATE TRIGGER "webhook_deliveries_deleted" AFTER DELETE ON "webhook_deliveries"
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "webhook_deliveries_counted"();
`;

const sumOf = (status: string) => `sum((status = '${status}')::int * sign)`;
const sums = ['pending', 'succeeded', 'failed', 'canceled'].map(sumOf);

/** The trigger counts updates once for each statement. It adds one row for each hour and type, and no row if no count changes. */
const countingUpdates = `
  CREATE OR REPLACE FUNCTION "webhook_deliveries_recounted"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO webhook_tally_changes (endpoint_id, hour, event_type, pending, succeeded, failed, canceled)
    SELECT endpoint_id, date_trunc('hour', created_at, 'UTC'), event_type, ${sums.join(', ')}
      FROM (SELECT endpoint_id, created_at, event_type, status, -1 AS sign FROM before
            UNION ALL SELECT endpoint_id, created_at, event_type, status, 1 FROM after) counted
     GROUP BY 1, 2, 3
    HAVING (${sums.join(', ')}) <> (0, 0, 0, 0);
    RETURN NULL;
  END $$;
  CREATE TRIGGER "webhook_deliveries_updated" AFTER UPDATE ON "webhook_deliveries"
    REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION "webhook_deliveries_recounted"();
`;

const up = `
  -- The migration adds days to times. In a time zone with clock changes, Postgres would make some days of 23 or 25 hours.
  SET LOCAL TimeZone = 'UTC';
  ${functions}
  DROP TRIGGER "webhook_deliveries_updated" ON "webhook_deliveries";
  DROP TRIGGER "webhook_deliveries_deleted" ON "webhook_deliveries";
  DROP TRIGGER "webhook_deliveries_inserted" ON "webhook_deliveries";
  ALTER TABLE "webhook_attempts" DROP CONSTRAINT "FK_0d56d91d61b827bb2079c256538";
  ALTER TABLE "webhook_deliveries"
    DROP CONSTRAINT "FK_27d1ee90033bdafe0ffe8f1be6f",
    DROP CONSTRAINT "FK_0b882c26a9b91c26e6e86b4867c",
    ADD "interruptions" smallint NOT NULL DEFAULT '0';
  ALTER TABLE "webhook_events" DROP CONSTRAINT "FK_6ccbe457f954a451029961f7b1f";

  UPDATE "webhook_deliveries" delivery SET interruptions = counted.interruptions
    FROM (SELECT attempt.delivery_id, count(*) AS interruptions
            FROM "webhook_attempts" attempt JOIN "webhook_deliveries" delivery
              ON delivery.id = attempt.delivery_id AND attempt.number = delivery.attempt_count + 1
           WHERE attempt.outcome = 'interrupted' GROUP BY 1) counted
   WHERE delivery.id = counted.delivery_id;

  DROP INDEX "webhook_events_created";
  DROP INDEX "webhook_events_bodies";
  DROP INDEX "webhook_attempts_started";

  -- If a fact is fanned out again, the fan-out does not find its earlier deliveries by their ids. So this statement wakes their runs.
  INSERT INTO "wakes" (workflow_id, workflow_type, subject_id, club_id, attributes, recorded_at)
  SELECT 'webhook-delivery/' || delivery.id, 'webhookDelivery', delivery.id, delivery.club_id,
         jsonb_build_object('ClubId', delivery.club_id, 'EndpointId', delivery.endpoint_id, 'EventType', delivery.event_type), now()
    FROM "facts" JOIN "webhook_deliveries" delivery ON delivery.event_id = "facts".id
   WHERE delivery.status = 'pending'
  ON CONFLICT DO NOTHING;
  ${['webhook_events', 'webhook_deliveries', 'webhook_attempts'].map(setAside).join('\n')}

  CREATE TABLE "webhook_bodies" (
    "event_id" uuid NOT NULL,
    "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "body" text NOT NULL,
    CONSTRAINT "PK_webhook_bodies" PRIMARY KEY ("event_id", "created_at")
  ) PARTITION BY RANGE ("created_at");
  ${partitioned(
    'webhook_bodies',
    'day',
    byTime,
    `(SELECT coalesce(greatest(min(created_at), now() - interval '31 days'), now()) FROM webhook_events_oldest WHERE body IS NOT NULL)`,
  )}
  INSERT INTO "webhook_bodies"
  SELECT id, created_at, body FROM "webhook_events_oldest" WHERE body IS NOT NULL;
  ALTER TABLE "webhook_events_oldest" DROP COLUMN "body";

  CREATE TABLE "webhook_events" (LIKE "webhook_events_oldest") PARTITION BY RANGE ("id");
  ALTER TABLE "webhook_events" ADD CONSTRAINT "PK_4cba37e6a0acb5e1fc49c34ebfd" PRIMARY KEY ("id");
  CREATE INDEX "webhook_events_student" ON "webhook_events" ("student_id");
  CREATE INDEX "webhook_events_created" ON "webhook_events" USING brin ("created_at");
  ${partitioned('webhook_events', 'week', byId, since('webhook_events', nextWeek, 'now()'))}

  CREATE TABLE "webhook_deliveries" (LIKE "webhook_deliveries_oldest" INCLUDING DEFAULTS INCLUDING CONSTRAINTS) PARTITION BY RANGE ("id");
  ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "PK_535dd409947fb6d8fc6dfc0112a" PRIMARY KEY ("id");
  ${deliveryIndexes}
  ${partitioned('webhook_deliveries', 'week', byId, since('webhook_deliveries', nextWeek, 'now()'))}

  ALTER TABLE "webhook_attempts_oldest"
    DROP CONSTRAINT "PK_0a177e17d7a2eda73b96b5ffaeb_oldest",
    ADD CONSTRAINT "webhook_attempts_oldest_key" PRIMARY KEY ("delivery_id", "fence", "started_at");
  CREATE TABLE "webhook_attempts" (LIKE "webhook_attempts_oldest" INCLUDING DEFAULTS INCLUDING CONSTRAINTS) PARTITION BY RANGE ("started_at");
  ALTER TABLE "webhook_attempts" ADD CONSTRAINT "PK_webhook_attempts" PRIMARY KEY ("delivery_id", "fence", "started_at");
  ${partitioned('webhook_attempts', 'day', byTime, since('webhook_attempts', nextDay, 'now()'))}

  ${attached('webhook_attempts', 'started_at', nextDay)}
  ${attached('webhook_deliveries', 'id', `pg_temp.id_at(${nextWeek})`)}
  ${attached('webhook_events', 'id', `pg_temp.id_at(${nextWeek})`)}
  ${countingInsertsAndDeletes}
  ${countingUpdates}
  CREATE INDEX "webhook_tallies_starts" ON "webhook_tallies" ("starts_at");
  ALTER TABLE "upkeep_rounds" ADD "position" uuid, ALTER "completed_at" DROP NOT NULL;
`;

/** Copies the rows of all partitions back into one table. */
const gathered = (table: string, key: string) => `
  ALTER TABLE "${table}" RENAME TO "${table}_parts";
  CREATE TABLE "${table}" (LIKE "${table}_parts" INCLUDING DEFAULTS INCLUDING CONSTRAINTS);
  INSERT INTO "${table}" SELECT * FROM "${table}_parts";
  DROP TABLE "${table}_parts";
  ALTER TABLE "${table}" ADD CONSTRAINT ${key};
`;

const down = `
  DELETE FROM "upkeep_rounds" WHERE completed_at IS NULL;
  ALTER TABLE "upkeep_rounds" DROP "position", ALTER "completed_at" SET NOT NULL;
  DROP INDEX "webhook_tallies_starts";
  DROP TRIGGER "webhook_deliveries_updated" ON "webhook_deliveries";
  DROP TRIGGER "webhook_deliveries_deleted" ON "webhook_deliveries";
  DROP TRIGGER "webhook_deliveries_inserted" ON "webhook_deliveries";
  ${gathered('webhook_events', `"PK_4cba37e6a0acb5e1fc49c34ebfd" PRIMARY KEY ("id")`)}
  ALTER TABLE "webhook_events" ADD "body" text;
  UPDATE "webhook_events" event SET body = kept.body FROM "webhook_bodies" kept WHERE kept.event_id = event.id AND kept.created_at = event.created_at;
  DROP TABLE "webhook_bodies";
  CREATE INDEX "webhook_events_student" ON "webhook_events" ("student_id");
  CREATE INDEX "webhook_events_created" ON "webhook_events" ("created_at");
  CREATE INDEX "webhook_events_bodies" ON "webhook_events" ("created_at") WHERE body IS NOT NULL;
  ${gathered('webhook_deliveries', `"PK_535dd409947fb6d8fc6dfc0112a" PRIMARY KEY ("id")`)}
  CREATE UNIQUE INDEX "webhook_deliveries_once" ON "webhook_deliveries" ("event_id", "endpoint_id");
  ${deliveryIndexes}
  ${gathered('webhook_attempts', `"PK_0a177e17d7a2eda73b96b5ffaeb" PRIMARY KEY ("delivery_id", "fence")`)}
  CREATE INDEX "webhook_attempts_started" ON "webhook_attempts" ("started_at");
  ALTER TABLE "webhook_events" ADD CONSTRAINT "FK_6ccbe457f954a451029961f7b1f" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE;
  ALTER TABLE "webhook_deliveries" DROP "interruptions",
    ADD CONSTRAINT "FK_0b882c26a9b91c26e6e86b4867c" FOREIGN KEY ("endpoint_id") REFERENCES "webhook_endpoints"("id") ON DELETE CASCADE,
    ADD CONSTRAINT "FK_27d1ee90033bdafe0ffe8f1be6f" FOREIGN KEY ("event_id") REFERENCES "webhook_events"("id") ON DELETE CASCADE;
  ALTER TABLE "webhook_attempts" ADD CONSTRAINT "FK_0d56d91d61b827bb2079c256538" FOREIGN KEY ("delivery_id") REFERENCES "webhook_deliveries"("id") ON DELETE CASCADE;
  ${countingInsertsAndDeletes}
  CREATE OR REPLACE FUNCTION "webhook_deliveries_recounted"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO webhook_tally_changes (endpoint_id, hour, event_type, pending, succeeded, failed, canceled)
    SELECT endpoint_id, date_trunc('hour', created_at, 'UTC'), event_type, ${sums.join(', ')}
      FROM (VALUES (OLD.endpoint_id, OLD.created_at, OLD.event_type, OLD.status, -1),
                   (NEW.endpoint_id, NEW.created_at, NEW.event_type, NEW.status, 1))
        AS counted (endpoint_id, created_at, event_type, status, sign)
     GROUP BY 1, 2, 3;
    RETURN NULL;
  END $$;
  CREATE TRIGGER "webhook_deliveries_updated" AFTER UPDATE OF status, endpoint_id, event_type, created_at ON "webhook_deliveries"
    FOR EACH ROW
    WHEN ((OLD.status, OLD.endpoint_id, OLD.event_type, OLD.created_at) IS DISTINCT FROM
          (NEW.status, NEW.endpoint_id, NEW.event_type, NEW.created_at))
    EXECUTE FUNCTION "webhook_deliveries_recounted"();
`;

export class WebhookPartitions1795700000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
