/** Adds the audit log of clubs. A trigger refuses to change an entry, and to delete it before its time is over (ADR 73). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class AuditLog1795773000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE TABLE "audit_entries" (
        "id" uuid NOT NULL,
        "club_id" uuid NOT NULL,
        "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        "actor_kind" text NOT NULL,
        "actor_id" uuid NOT NULL,
        "operation" text NOT NULL,
        "records" jsonb NOT NULL,
        "fields" text array NOT NULL,
        "request_id" text NOT NULL,
        "network" text NOT NULL,
        CONSTRAINT "audit_entries_actor_kind" CHECK (actor_kind in ('administrator', 'api_key')),
        CONSTRAINT "audit_entries_pkey" PRIMARY KEY ("id"),
        CONSTRAINT "audit_entries_club_id_fkey" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE
      );
      CREATE INDEX "audit_entries_club" ON "audit_entries" ("club_id", "created_at", "id");
      CREATE INDEX "audit_entries_actor" ON "audit_entries" ("club_id", "actor_id", "created_at", "id");
      CREATE INDEX "audit_entries_age" ON "audit_entries" ("created_at");
      CREATE INDEX "audit_entries_records" ON "audit_entries" USING gin ("records" jsonb_path_ops);
      CREATE FUNCTION audit_entries_guarded() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP = 'UPDATE' THEN
          RAISE EXCEPTION 'An entry of the audit log cannot be changed.' USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        -- The entries of a deleted club are deleted with it. Then the row of the club does not exist any more.
        IF OLD.created_at > clock_timestamp() - interval '400 days' AND EXISTS (SELECT FROM clubs WHERE id = OLD.club_id) THEN
          RAISE EXCEPTION 'An entry of the audit log is kept for 400 days.' USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        RETURN OLD;
      END $$;
      CREATE TRIGGER audit_entries_guarded BEFORE UPDATE OR DELETE ON "audit_entries"
        FOR EACH ROW EXECUTE FUNCTION audit_entries_guarded()`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DROP TABLE "audit_entries";
      DROP FUNCTION audit_entries_guarded()`);
  }
}
