/** Charges for the overage of ended months, and the customers of clubs at the payment processor (ADR 81). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class OverageCharges1795779000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE TABLE "overage_charges" (
        "id" uuid NOT NULL,
        "club_id" uuid NOT NULL,
        "resource" text NOT NULL,
        "month" date NOT NULL,
        "excess" bigint NOT NULL,
        "packs" integer NOT NULL,
        "plan" text NOT NULL,
        "status" text NOT NULL,
        "reason" text,
        "customer_id" text,
        "amount" bigint,
        "currency" text,
        "key_number" integer NOT NULL DEFAULT '0',
        "keyed_at" TIMESTAMP WITH TIME ZONE,
        "item_id" text,
        "invoice_id" text,
        "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        "charged_at" TIMESTAMP WITH TIME ZONE,
        "settled_at" TIMESTAMP WITH TIME ZONE,
        "next_attempt_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        "attempt_count" integer NOT NULL DEFAULT '0',
        "fence" integer NOT NULL DEFAULT '0',
        "lease_until" TIMESTAMP WITH TIME ZONE,
        CONSTRAINT "overage_charges_resource" CHECK (resource in ('students', 'storage_bytes')),
        CONSTRAINT "overage_charges_plan" CHECK (plan in ('trial', 'starter', 'professional', 'business')),
        CONSTRAINT "overage_charges_status" CHECK (status in ('pending', 'invoiced', 'waived', 'failed')),
        CONSTRAINT "overage_charges_reason" CHECK (reason in ('no_customer', 'customer_deleted', 'item_removed', 'not_configured', 'currency_without_price', 'amount_too_large', 'refused_by_processor', 'processor_unreachable')),
        CONSTRAINT "overage_charges_settled" CHECK ((status = 'pending') = (settled_at IS NULL)),
        CONSTRAINT "overage_charges_invoiced" CHECK (status <> 'invoiced' OR (item_id IS NOT NULL AND invoice_id IS NOT NULL)),
        CONSTRAINT "overage_charges_charged" CHECK ((item_id IS NULL) = (charged_at IS NULL)),
        CONSTRAINT "overage_charges_packs" CHECK (packs > 0),
        CONSTRAINT "overage_charges_pkey" PRIMARY KEY ("id"),
        CONSTRAINT "overage_charges_club_id_fkey" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE
      );
      CREATE UNIQUE INDEX "overage_charges_month" ON "overage_charges" ("club_id", "month", "resource");
      CREATE INDEX "overage_charges_due" ON "overage_charges" ("next_attempt_at") WHERE status = 'pending';
      CREATE INDEX "overage_charges_held" ON "overage_charges" ("created_at") WHERE item_id IS NULL AND status IN ('pending', 'failed');
      CREATE TABLE "billing_customers" (
        "club_id" uuid NOT NULL,
        "customer_id" text NOT NULL,
        "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        CONSTRAINT "billing_customers_pkey" PRIMARY KEY ("club_id"),
        CONSTRAINT "billing_customers_club_id_fkey" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE
      );
      ALTER TABLE "overages" ADD "plan" text, ADD "closed_at" TIMESTAMP WITH TIME ZONE;
      ALTER TABLE "overages" ADD CONSTRAINT "overages_plan" CHECK (plan in ('trial', 'starter', 'professional', 'business')) NOT VALID;
      ALTER TABLE "overages" VALIDATE CONSTRAINT "overages_plan";
      ALTER TABLE "billing_events" ADD "currency" text, ADD "invoice_id" text;
      ALTER TABLE "club_plans" ADD "currency" text`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE "club_plans" DROP "currency";
      ALTER TABLE "billing_events" DROP "invoice_id", DROP "currency";
      ALTER TABLE "overages" DROP CONSTRAINT "overages_plan", DROP "closed_at", DROP "plan";
      DROP TABLE "billing_customers";
      DROP TABLE "overage_charges"`);
  }
}
