/** The webhook engine's second half: breaker, gate, parking, attempts asked for by hand, deletion in the background. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  ALTER TABLE "webhook_endpoints"
    ADD "breaker_step" smallint NOT NULL DEFAULT '0',
    ADD "breaker_epoch" integer NOT NULL DEFAULT '0',
    ADD "admitted_delivery_id" uuid,
    ADD "gate_looks_at" TIMESTAMP WITH TIME ZONE,
    ADD "release_page" smallint NOT NULL DEFAULT '0',
    ADD "enabled_at" TIMESTAMP WITH TIME ZONE,
    ADD "deleted_at" TIMESTAMP WITH TIME ZONE;
  CREATE INDEX "webhook_endpoints_gate" ON "webhook_endpoints" ("gate_looks_at") WHERE gate_looks_at IS NOT NULL;
  CREATE INDEX "webhook_endpoints_deleted" ON "webhook_endpoints" ("deleted_at") WHERE deleted_at IS NOT NULL;
  ALTER TABLE "webhook_deliveries"
    ADD "schedule_position" smallint NOT NULL DEFAULT '0',
    ADD "requested" text,
    ADD "in_flight" text,
    ADD "parked_at" TIMESTAMP WITH TIME ZONE;
  UPDATE "webhook_deliveries"
     SET schedule_position = attempt_count;
  ALTER TABLE "webhook_deliveries"
    DROP CONSTRAINT "webhook_deliveries_attempts",
    ADD CONSTRAINT "webhook_deliveries_schedule" CHECK (schedule_position between 0 and 8),
    ADD CONSTRAINT "webhook_deliveries_requested" CHECK (requested in ('manual', 'recovery', 'test')),
    ADD CONSTRAINT "webhook_deliveries_in_flight" CHECK (in_flight in ('manual', 'recovery', 'test'));
  DROP INDEX "webhook_deliveries_overdue";
  DROP INDEX "webhook_deliveries_pending";
  CREATE INDEX "webhook_deliveries_overdue" ON "webhook_deliveries" ("next_attempt_at")
    WHERE parked_at IS NULL AND (status = 'pending' OR requested IS NOT NULL OR in_flight IS NOT NULL);
  CREATE INDEX "webhook_deliveries_pending" ON "webhook_deliveries" ("endpoint_id", "parked_at", "next_attempt_at") WHERE status = 'pending';
  CREATE INDEX "webhook_deliveries_parked" ON "webhook_deliveries" ("endpoint_id", "next_attempt_at", "id")
    WHERE parked_at IS NOT NULL AND requested IS DISTINCT FROM 'recovery';
  CREATE INDEX "webhook_deliveries_asked" ON "webhook_deliveries" ("endpoint_id")
    WHERE status <> 'pending' AND (requested IS NOT NULL OR in_flight IS NOT NULL);
  CREATE INDEX "webhook_deliveries_recovering" ON "webhook_deliveries" ("endpoint_id", "next_attempt_at", "id")
    WHERE parked_at IS NOT NULL AND requested = 'recovery';
  ALTER TABLE "transactional_mails" ADD "endpoint_id" uuid;
`;

const down = `
  ALTER TABLE "transactional_mails" DROP "endpoint_id";
  DROP INDEX "webhook_deliveries_recovering";
  DROP INDEX "webhook_deliveries_asked";
  DROP INDEX "webhook_deliveries_parked";
  DROP INDEX "webhook_deliveries_pending";
  DROP INDEX "webhook_deliveries_overdue";
  CREATE INDEX "webhook_deliveries_pending" ON "webhook_deliveries" ("endpoint_id", "next_attempt_at") WHERE status = 'pending';
  CREATE INDEX "webhook_deliveries_overdue" ON "webhook_deliveries" ("next_attempt_at") WHERE status = 'pending';
  UPDATE "webhook_deliveries" SET attempt_count = schedule_position;
  ALTER TABLE "webhook_deliveries"
    DROP CONSTRAINT "webhook_deliveries_in_flight",
    DROP CONSTRAINT "webhook_deliveries_requested",
    DROP CONSTRAINT "webhook_deliveries_schedule",
    ADD CONSTRAINT "webhook_deliveries_attempts" CHECK (attempt_count between 0 and 8);
  ALTER TABLE "webhook_deliveries" DROP "parked_at", DROP "in_flight", DROP "requested", DROP "schedule_position";
  DROP INDEX "webhook_endpoints_deleted";
  DROP INDEX "webhook_endpoints_gate";
  ALTER TABLE "webhook_endpoints"
    DROP "deleted_at", DROP "enabled_at", DROP "release_page", DROP "gate_looks_at", DROP "admitted_delivery_id", DROP "breaker_epoch", DROP "breaker_step";
`;

export class WebhookEngine1763720000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
