/** Images for agents that were ready before they were kept as pictures of ours become such pictures later (MED-22). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class AgentPictures1795408469000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      UPDATE media SET renditions_due_at = processed_at
       WHERE purpose = 'agent_image' AND status = 'ready' AND removed_at IS NULL AND object_key IS NOT NULL
         AND processed_at IS NOT NULL AND NOT EXISTS (SELECT FROM media_renditions made WHERE made.media_id = media.id)`);
  }

  async down(): Promise<void> {
    // What is due becomes a picture, or not: both versions deliver it.
  }
}
