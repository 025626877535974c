/** Registration links with their claims, and the products of sales platforms with what they are mapped to. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  CREATE TABLE "registration_links" (
    "id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "code" text NOT NULL,
    "folded_code" text NOT NULL,
    "name" text NOT NULL,
    "max_uses" integer,
    "uses" integer NOT NULL DEFAULT '0',
    "expires_at" TIMESTAMP WITH TIME ZONE,
    "revoked_at" TIMESTAMP WITH TIME ZONE,
    "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "updated_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "registration_links_uses" CHECK (uses >= 0 AND max_uses > 0),
    CONSTRAINT "registration_links_code" CHECK (code ~ '^[A-Za-z0-9_-]{1,64}$' AND folded_code = lower(code)),
    CONSTRAINT "PK_08c3b2b77de8419b7dce0bb4b1f" PRIMARY KEY ("id")
  );
  CREATE INDEX "registration_links_club" ON "registration_links" ("club_id", "created_at", "id");
  CREATE UNIQUE INDEX "registration_links_club_code" ON "registration_links" ("club_id", "folded_code");
  CREATE TABLE "registration_link_claims" (
    "link_id" uuid NOT NULL,
    "student_id" uuid NOT NULL,
    "delivery_ids" uuid array NOT NULL,
    "claimed_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "PK_e4f1dbb2de62ff585c121223328" PRIMARY KEY ("link_id", "student_id")
  );
  CREATE INDEX "registration_link_claims_student" ON "registration_link_claims" ("student_id");
  CREATE TABLE "registration_link_deliveries" (
    "link_id" uuid NOT NULL,
    "delivery_id" uuid NOT NULL,
    CONSTRAINT "PK_bfb55e743d91f1fd2dd3d2dd277" PRIMARY KEY ("link_id", "delivery_id")
  );
  CREATE INDEX "registration_link_deliveries_delivery" ON "registration_link_deliveries" ("delivery_id");
  CREATE TABLE "products" (
    "id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "platform" text NOT NULL,
    "external_id" text NOT NULL,
    "name" text NOT NULL,
    "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "updated_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "products_platform" CHECK (platform ~ '^[a-z0-9][a-z0-9_-]{0,63}$'),
    CONSTRAINT "PK_0806c755e0aca124e67c0cf6d7d" PRIMARY KEY ("id")
  );
  CREATE INDEX "products_club" ON "products" ("club_id", "created_at", "id");
  CREATE UNIQUE INDEX "products_identity" ON "products" ("club_id", "platform", "external_id");
  CREATE TABLE "product_deliveries" (
    "product_id" uuid NOT NULL,
    "delivery_id" uuid NOT NULL,
    CONSTRAINT "PK_6bf55245c709dc5a9cde772511a" PRIMARY KEY ("product_id", "delivery_id")
  );
  CREATE INDEX "product_deliveries_delivery" ON "product_deliveries" ("delivery_id");
  ALTER TABLE "registration_links" ADD CONSTRAINT "FK_5df77b5630377c76e5cc229e48f" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "registration_link_claims" ADD CONSTRAINT "FK_75b829a34b53eec82c0c7d68b0e" FOREIGN KEY ("link_id") REFERENCES "registration_links"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "registration_link_claims" ADD CONSTRAINT "FK_f5e78dcf332238160a9ae33b4a4" FOREIGN KEY ("student_id") REFERENCES "students"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "registration_link_deliveries" ADD CONSTRAINT "FK_8d3122657df2a8d81c204a90fcb" FOREIGN KEY ("link_id") REFERENCES "registration_links"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "registration_link_deliveries" ADD CONSTRAINT "FK_9167df70917e925dd3e2861cea3" FOREIGN KEY ("delivery_id") REFERENCES "access_deliveries"("id") ON DELETE NO ACTION ON UPDATE NO ACTION;
  ALTER TABLE "products" ADD CONSTRAINT "FK_4f6096503d83fe1567485ce8a88" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "product_deliveries" ADD CONSTRAINT "FK_e5de542e3f1025b6a8b9c2399a2" FOREIGN KEY ("product_id") REFERENCES "products"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "product_deliveries" ADD CONSTRAINT "FK_09a4616ce481ab90f82b7a190ec" FOREIGN KEY ("delivery_id") REFERENCES "access_deliveries"("id") ON DELETE NO ACTION ON UPDATE NO ACTION;
`;

const down = `
  DROP TABLE "registration_link_claims";
  DROP TABLE "registration_link_deliveries";
  DROP TABLE "product_deliveries";
  DROP TABLE "registration_links";
  DROP TABLE "products";
`;

export class RegistrationLinks1763741000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
