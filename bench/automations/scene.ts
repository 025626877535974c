/** Clubs whose automations start with a tag, and the facts that start runs. */
import type { DataSource } from 'typeorm';
import { createAutomation } from '../../domain/automations/versions/drafts.ts';
import type { Step } from '../../domain/automations/versions/definition.policy.ts';
import { publishAutomation } from '../../domain/automations/versions/publishing.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { recordFacts } from '../../platform/engine/facts.ts';
import type { Database } from '../../platform/infra/postgres/database.ts';
import type { Vault } from '../../platform/infra/keys/vault.ts';
import { clubWithoutRate, haveStudents } from '../campaigns/scene.ts';
import { waitUntil } from '../support.ts';

export interface AutomationClub {
  clubId: Id;
  studentIds: readonly Id[];
}

export interface Published {
  automationId: Id;
  /** This tag starts a run. */
  tagId: Id;
}

type Deps = { db: Database; vault: Vault };

/** Creates a club without a rate limit for mails, and with confirmed students. */
export async function clubOf({ db }: Deps, students: number): Promise<AutomationClub> {
  const clubId = await clubWithoutRate(db);
  await haveStudents(db.source, clubId, students);
  const rows = await db.source.query<{ id: Id }[]>(`SELECT id FROM students WHERE club_id = $1`, [clubId]);
  return { clubId, studentIds: rows.map(({ id }) => id) };
}

export async function addTag(source: DataSource, clubId: Id): Promise<Id> {
  const id = newId();
  await source.query(`INSERT INTO tags (id, club_id, name, folded_name, created_at) VALUES ($1, $2, $3, $3, now())`, [
    id,
    clubId,
    `tag ${id}`,
  ]);
  return id;
}

/** A tag starts a run. */
export async function publish(deps: Deps, clubId: Id, steps: readonly Step[]): Promise<Published> {
  const tagId = await addTag(deps.db.source, clubId);
  const now = new Date();
  const draft = {
    trigger: { kind: 'student_tagged', tag_ids: [tagId] },
    reentry: 'always',
    exit_on_access_lost: false,
    steps,
  };
  const { record } = await createAutomation(deps, clubId, { name: 'Bench', draft: draft as never }, now);
  await publishAutomation(
    { ...deps, publicUrl: 'https://api.example.com', images: undefined as never },
    clubId,
    record.id,
    '*',
    now,
  ); // no mail has images
  return { automationId: record.id, tagId };
}

const atOnce = 500;

/** Records one fact for each student. The fact starts or wakes a run. */
export async function tellTagged(db: Database, { clubId, studentIds }: AutomationClub, tagId: Id): Promise<void> {
  for (let from = 0; from < studentIds.length; from += atOnce) {
    const page = studentIds.slice(from, from + atOnce);
    await db.transaction(async (tx) => {
      await tx.manager.query(
        `INSERT INTO student_tags (student_id, tag_id, tagged_at) SELECT id, $2, now() FROM unnest($1::uuid[]) AS id ON CONFLICT DO NOTHING`,
        [page, tagId],
      );
      const fact = { clubId, type: 'student.tagged', subjectId: tagId, occurredAt: new Date() } as const;
      await recordFacts(
        tx,
        page.map((studentId) => ({ ...fact, studentId })),
      );
    });
  }
}

/**
 * @param where SQL over `automation_runs`
 * @param unpaced gives waiting bulk wakes normal priority, so that no run waits for the rate limit of bulk work
 */
export async function untilRuns(
  { source }: Database,
  automations: readonly Published[],
  { count, where, timeoutMs, unpaced }: { count: number; where: string; timeoutMs: number; unpaced?: boolean },
): Promise<void> {
  let found = 0;
  const isSo = async () => {
    if (unpaced) await source.query(`UPDATE wakes SET priority = 1 WHERE priority = 2`);
    const [row] = await source.query<{ count: number }[]>(
      `SELECT count(*)::int AS count FROM automation_runs WHERE automation_id = ANY ($1) AND ${where}`,
      [automations.map(({ automationId }) => automationId)],
    );
    found = row?.count ?? 0;
    return found >= count;
  };
  await waitUntil(`${count} runs: ${where}`, isSo, { timeoutMs, everyMs: 100, progressSoFar: () => `${found} are` });
}
