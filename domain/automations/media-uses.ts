/** Defines how automations use library files, in their drafts and in their published versions. */
import type { Id } from '../../platform/core/ids.ts';
import type { Transaction } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { MediaUseRules } from '../media/use-rules.ts';
import { endUsesOf } from '../media/uses/uses.ts';

/**
 * An SQL condition: the version has active runs or can get new ones. Uses of other versions stay until the next publication, but no list
 * shows them.
 */
const liveVersion = sql`(automation.published_id = version.id AND automation.status IN ('active', 'paused')
  OR EXISTS (SELECT FROM automation_runs run WHERE run.version_id = version.id AND run.status = 'active'))`;

export const automationMediaUses = {
  automation: { title: sql`SELECT name FROM automations WHERE id = use.place_id` },
  automation_version: {
    title: sql`SELECT automation.name || ', version ' || version.number FROM automation_versions version
      JOIN automations automation ON automation.id = version.automation_id WHERE version.id = use.place_id`,
    isLive: sql`EXISTS (
      SELECT FROM automation_versions version JOIN automations automation ON automation.id = version.automation_id
       WHERE version.id = use.place_id AND ${liveVersion})`,
    blocksForce: true,
  },
} as const satisfies MediaUseRules;

/** Deletes the uses of versions that have no active runs and cannot get new runs. The caller holds the lock of the automation. */
export async function endUsesOfOldVersions(tx: Transaction, automationId: Id): Promise<void> {
  const oldVersions = sql`
    SELECT version.id FROM automation_versions version JOIN automations automation ON automation.id = version.automation_id
     WHERE version.automation_id = ${automationId} AND NOT ${liveVersion}`;
  await endUsesOf(tx, 'automation_version', oldVersions);
}
