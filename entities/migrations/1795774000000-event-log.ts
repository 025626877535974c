/**
 * Adds the event log: bodies get positions in the log, and clubs get the time at which their log begins (ADR 74). The next round of
 * retention starts the logs of clubs that have an
 * endpoint.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class EventLog1795774000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE SEQUENCE "event_positions";
      ALTER TABLE "webhook_bodies"
        ADD "club_id" uuid,
        ADD "student_id" uuid,
        ADD "type" text,
        ADD "position" bigint;
      ALTER TABLE "clubs" ADD "events_logged_since" TIMESTAMP WITH TIME ZONE`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE "clubs" DROP "events_logged_since";
      ALTER TABLE "webhook_bodies" DROP "position", DROP "type", DROP "student_id", DROP "club_id";
      DROP SEQUENCE "event_positions"`);
  }
}
