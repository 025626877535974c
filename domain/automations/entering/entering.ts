/** Lets students enter an automation: creates the keys of runs, and applies the rules of reentry (AUTO-18). */
import type { AccessKind, Reentry } from '../../../entities/automations/values.ts';
import type { Priority } from '../../../entities/facts/values.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import type { Run, Subject } from '../../../platform/engine/workflow-types.ts';
import { runOf } from '../../../platform/engine/workflow-types.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { requireFeature } from '../../billing/allowances.ts';
import { runSubject } from '../../watches/watches.ts';
import { isTooLong } from '../versions/links.policy.ts';
import { readVersion, type ReadVersion } from '../running/version-cache.ts';
import { deadlineOnEntry, type WaitClock } from '../wait-speed.policy.ts';

/** The maximum number of active runs of one student in one automation with reentry `always`. */
const maxActive = 20;

export interface Entrant {
  studentId: Id;
  /** The id of the fact, or an id that the caller chose. In one automation, a cause starts at most one run of a student. */
  causeId: Id;
  priority: Priority;
  access: { kind: AccessKind; id: Id } | undefined;
  links: readonly string[];
}

type NewEntry = 'entered' | 'not_again' | 'too_many';
export type Entry = NewEntry | 'entered_before';

/** An automation that accepts students. The transaction holds a shared lock on it. */
export interface OpenAutomation extends WaitClock {
  id: Id;
  clubId: Id;
  version: ReadVersion;
}

/**
 * Takes a shared lock on an automation that is active, in a club whose plan has automations.
 * @returns undefined if the automation accepts no students
 */
export async function shareOpen(
  tx: Transaction,
  automationId: Id,
  waitSpeed: number | undefined,
): Promise<OpenAutomation | undefined> {
  const row = await tx.one<{ clubId: Id; publishedId: Id; timeZone: string }>(sql`
    SELECT automation.club_id AS "clubId", automation.published_id AS "publishedId", club.time_zone AS "timeZone"
      FROM automations automation JOIN clubs club ON club.id = automation.club_id
     WHERE automation.id = ${automationId} AND automation.status = 'active' AND club.erasing_at IS NULL FOR SHARE OF automation`);
  if (!row || !(await isInPlan(tx, row.clubId))) return undefined;
  const { clubId, publishedId, timeZone } = row;
  return { id: automationId, clubId, timeZone, waitSpeed, version: await readVersion(tx, publishedId) };
}

async function isInPlan(tx: Transaction, clubId: Id): Promise<boolean> {
  try {
    await requireFeature(tx, clubId, 'automations');
    return true;
  } catch (error) {
    if (error instanceof DomainError) return false;
    throw error;
  }
}

/**
 * Starts a run for each student whom the rule for repeated entry admits. A second call with the same causes starts nothing. The caller
 * holds a shared lock on the automation, and the locks of the students. So the number of each student's runs cannot change meanwhile.
 * @param entrants distinct students
 * @returns the result for each student, and the runs to start
 */
export async function enter(
  tx: Transaction,
  automation: OpenAutomation,
  entrants: readonly Entrant[],
  now: Date,
): Promise<{ entries: Map<Id, Entry>; runs: Run[] }> {
  const { id: automationId, clubId, version } = automation;
  const { reentry, steps } = version.definition;
  const earlierRuns = await runsBefore(tx, automationId, entrants);
  const entries = new Map(
    entrants.map(({ studentId }): [Id, Entry] => {
      const before = earlierRuns.get(studentId);
      return [studentId, before?.same === true ? 'entered_before' : judge(reentry, before)];
    }),
  );
  const [first] = steps;
  if (!first) return { entries, runs: [] };
  const deadline = deadlineOnEntry(first, automation, now);
  const rows = entrants
    .filter(({ studentId }) => entries.get(studentId) === 'entered')
    .map(({ studentId, causeId, priority, access, links }) => ({
      id: newId(),
      student_id: studentId,
      cause_id: causeId,
      priority,
      access_kind: access?.kind ?? null,
      access_id: access?.id ?? null,
      links,
      fails: isTooLong(links, now),
    }));
  if (rows.length === 0) return { entries, runs: [] };
  const newRuns = await tx.rows<Subject<'automationRun'> & { active: boolean }>(sql`
    INSERT INTO automation_runs AS run (id, club_id, automation_id, version_id, student_id, status, error_code, cause_id, reentry, priority,
                                        access_kind, access_id, links, cursor, deadline, looks_at, entered_at, ended_at)
    SELECT one.id, ${clubId}, ${automationId}, ${version.id}, one.student_id, CASE WHEN one.fails THEN 'failed' ELSE 'active' END,
           CASE WHEN one.fails THEN 'cycle_limit' END, one.cause_id, ${reentry}, one.priority, one.access_kind, one.access_id, one.links,
           ${first.id}, ${deadline}, CASE WHEN NOT one.fails THEN ${now}::timestamptz END, ${now}, CASE WHEN one.fails THEN ${now}::timestamptz END
      FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
        AS one (id uuid, student_id uuid, cause_id uuid, priority smallint, access_kind text, access_id uuid, links jsonb, fails boolean)
    RETURNING ${runSubject}, run.status = 'active' AS active`);
  return { entries, runs: newRuns.filter(({ active }) => active).map((run) => runOf('automationRun', run)) };
}

/** @returns whether the reentry rule lets a student enter now for a new cause. If not, the value names the reason */
export async function entryOf(db: Queries, automationId: Id, reentry: Reentry, studentId: Id): Promise<NewEntry> {
  const earlierRuns = await runsBefore(db, automationId, [{ studentId, causeId: newId() }]);
  return judge(reentry, earlierRuns.get(studentId));
}

/** @returns whether the student may have another active run with reentry `always`. The caller holds the lock of the student */
export async function hasRoom(db: Queries, automationId: Id, studentId: Id): Promise<boolean> {
  return (await entryOf(db, automationId, 'always', studentId)) === 'entered';
}

interface Before {
  studentId: Id;
  runs: number;
  active: number;
  same: boolean;
}

/** @returns for each student, the number of runs in this automation, and whether one of these runs has the given cause */
async function runsBefore(
  db: Queries,
  automationId: Id,
  entrants: readonly Pick<Entrant, 'studentId' | 'causeId'>[],
): Promise<Map<Id, Before>> {
  const [studentIds, causeIds] = [entrants.map(({ studentId }) => studentId), entrants.map(({ causeId }) => causeId)];
  const before = await db.rows<Before>(sql`
    SELECT student_id AS "studentId", count(*)::int AS runs, count(*) FILTER (WHERE status = 'active')::int AS active,
           bool_or((student_id, cause_id) IN (SELECT * FROM unnest(${studentIds}::uuid[], ${causeIds}::uuid[]))) AS same
      FROM automation_runs WHERE automation_id = ${automationId} AND student_id = ANY(${studentIds}) GROUP BY 1`);
  return new Map(before.map((one) => [one.studentId, one]));
}

function judge(reentry: Reentry, before: Before | undefined): NewEntry {
  if (!before) return 'entered';
  if (reentry === 'once') return 'not_again';
  if (reentry === 'after_exit') return before.active > 0 ? 'not_again' : 'entered';
  return before.active >= maxActive ? 'too_many' : 'entered';
}
