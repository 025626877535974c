/** The history of webhook deliveries at ten million rows: indexes for its filters, tallies for its totals, indexes for retention. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A row's four counts, for an aggregate over deliveries. */
const counts = ['pending', 'succeeded', 'failed', 'canceled'].map(
  (status) => `count(*) FILTER (WHERE status = '${status}')`,
);

/**
 * Changes are noted by triggers, so that no writer can forget them. Inserts and deletes note what a statement did; an
 * update notes a row, and only where something that is counted changes: claims and retries cost nothing.
 */
const triggers = `
  CREATE FUNCTION "webhook_deliveries_counted"() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE
    sign integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
  BEGIN
    INSERT INTO webhook_tally_changes (endpoint_id, hour, event_type, pending, succeeded, failed, canceled)
    SELECT endpoint_id, date_trunc('hour', created_at, 'UTC'), event_type, ${counts.map((count) => `sign * ${count}`).join(', ')}
      FROM changed GROUP BY 1, 2, 3;
    RETURN NULL;
  END $$;
  CREATE FUNCTION "webhook_deliveries_recounted"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO webhook_tally_changes (endpoint_id, hour, event_type, pending, succeeded, failed, canceled)
    SELECT counted.endpoint_id, date_trunc('hour', counted.created_at, 'UTC'), counted.event_type,
           sum((counted.status = 'pending')::int * sign), sum((counted.status = 'succeeded')::int * sign),
           sum((counted.status = 'failed')::int * sign), sum((counted.status = 'canceled')::int * sign)
      FROM (VALUES (OLD.endpoint_id, OLD.created_at, OLD.event_type, OLD.status, -1),
                   (NEW.endpoint_id, NEW.created_at, NEW.event_type, NEW.status, 1))
        AS counted (endpoint_id, created_at, event_type, status, sign)
     GROUP BY 1, 2, 3;
    RETURN NULL;
  END $$;
  CREATE TRIGGER "webhook_deliveries_inserted" AFTER INSERT ON "webhook_deliveries"
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "webhook_deliveries_counted"();
  CREATE TRIGGER "webhook_deliveries_deleted" AFTER DELETE ON "webhook_deliveries"
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "webhook_deliveries_counted"();
  CREATE TRIGGER "webhook_deliveries_updated" AFTER UPDATE OF status, endpoint_id, event_type, created_at ON "webhook_deliveries"
    FOR EACH ROW
    WHEN ((OLD.status, OLD.endpoint_id, OLD.event_type, OLD.created_at) IS DISTINCT FROM
          (NEW.status, NEW.endpoint_id, NEW.event_type, NEW.created_at))
    EXECUTE FUNCTION "webhook_deliveries_recounted"();
`;

const up = `
  CREATE TABLE "webhook_tallies" (
    "endpoint_id" uuid NOT NULL,
    "span" text NOT NULL,
    "starts_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "event_type" text NOT NULL,
    "pending" integer NOT NULL,
    "succeeded" integer NOT NULL,
    "failed" integer NOT NULL,
    "canceled" integer NOT NULL,
    CONSTRAINT "webhook_tallies_span" CHECK (span in ('day', 'hour')),
    CONSTRAINT "PK_176e5db83328bccb24ad7531f55" PRIMARY KEY ("endpoint_id", "span", "starts_at", "event_type")
  );
  CREATE TABLE "webhook_tally_changes" (
    "endpoint_id" uuid NOT NULL,
    "seq" BIGSERIAL NOT NULL,
    "hour" TIMESTAMP WITH TIME ZONE NOT NULL,
    "event_type" text NOT NULL,
    "pending" integer NOT NULL,
    "succeeded" integer NOT NULL,
    "failed" integer NOT NULL,
    "canceled" integer NOT NULL,
    CONSTRAINT "PK_d3535c22ea721ec3edb8ea89a2f" PRIMARY KEY ("endpoint_id", "seq")
  );
  ${triggers}
  -- After the triggers, whose creation keeps writers out until the commit.
  INSERT INTO "webhook_tallies"
  SELECT endpoint_id, span, date_trunc(span, created_at, 'UTC'), event_type, ${counts.join(', ')}
    FROM "webhook_deliveries" CROSS JOIN (VALUES ('day'), ('hour')) AS spans (span)
   GROUP BY 1, 2, 3, 4;
  CREATE INDEX "webhook_deliveries_types" ON "webhook_deliveries" ("endpoint_id", "event_type", "status", "created_at", "id");
  CREATE INDEX "webhook_deliveries_statuses" ON "webhook_deliveries" ("endpoint_id", "status", "created_at", "id");
  CREATE INDEX "webhook_events_bodies" ON "webhook_events" ("created_at") WHERE body IS NOT NULL;
  CREATE INDEX "webhook_endpoints_rotated" ON "webhook_endpoints" ("previous_secret_expires_at") WHERE previous_secret IS NOT NULL;
`;

const down = `
  DROP INDEX "webhook_endpoints_rotated";
  DROP INDEX "webhook_events_bodies";
  DROP INDEX "webhook_deliveries_statuses";
  DROP INDEX "webhook_deliveries_types";
  DROP TRIGGER "webhook_deliveries_updated" ON "webhook_deliveries";
  DROP TRIGGER "webhook_deliveries_deleted" ON "webhook_deliveries";
  DROP TRIGGER "webhook_deliveries_inserted" ON "webhook_deliveries";
  DROP FUNCTION "webhook_deliveries_recounted";
  DROP FUNCTION "webhook_deliveries_counted";
  DROP TABLE "webhook_tally_changes";
  DROP TABLE "webhook_tallies";
`;

export class WebhookHistory1763730000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
