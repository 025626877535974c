/** Adds the listeners of clubs: programs that receive events over an open connection (ADR 77). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class WebhookListeners1795776000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE TABLE "webhook_listeners" (
        "id" uuid NOT NULL,
        "club_id" uuid NOT NULL,
        "key_id" uuid,
        "administrator_id" uuid,
        "stream_id" uuid NOT NULL,
        "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        "heartbeat_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        CONSTRAINT "webhook_listeners_caller" CHECK ((key_id IS NULL) <> (administrator_id IS NULL)),
        CONSTRAINT "webhook_listeners_pkey" PRIMARY KEY ("id"),
        CONSTRAINT "webhook_listeners_club_id_fkey" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE,
        CONSTRAINT "webhook_listeners_key_id_fkey" FOREIGN KEY ("key_id") REFERENCES "api_keys"("id") ON DELETE CASCADE,
        CONSTRAINT "webhook_listeners_administrator_id_fkey" FOREIGN KEY ("administrator_id") REFERENCES "administrators"("id") ON DELETE CASCADE
      );
      CREATE INDEX "webhook_listeners_club" ON "webhook_listeners" ("club_id", "heartbeat_at");
      CREATE INDEX "webhook_listeners_key" ON "webhook_listeners" ("key_id");
      CREATE INDEX "webhook_listeners_administrator" ON "webhook_listeners" ("administrator_id");
      CREATE INDEX "webhook_listeners_heartbeat" ON "webhook_listeners" ("heartbeat_at")`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP TABLE "webhook_listeners"`);
  }
}
