/**
 * Predicts what a run would do, and when. A dry run uses the code of real runs, with the student's records and the facts that the caller
 * supposes. It writes nothing, locks no row, and keeps no transaction open (AUTO-19).
 */
import type { RecordOf } from '../../../contract/contract.ts';
import type { EventType } from '../../../platform/core/event-types.ts';
import { notFound } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { VaultDeps } from '../../deps.ts';
import type { Step } from '../versions/definition.policy.ts';
import { entryOf } from '../entering/entering.ts';
import { deadlineOf, nextLook, sleepsAt, watchOf } from '../interpreter.policy.ts';
import { requireNoProblems } from '../versions/problems.ts';
import { findAutomation, findVersion } from '../records.ts';
import { lookAt, placeOf, type Look, type Standing } from '../running/looking.ts';
import { reasonToSkip } from '../running/mailing.ts';
import type { Recipient } from '../running/moves.ts';
import { readDefinition, readVersion, type ReadVersion } from '../running/version-cache.ts';
import { readSupposed, type Supposed } from './supposing.ts';
import { shadowing, suppose, worldAsItIs, type Waking, type World } from './world.ts';

type Request = RecordOf<'AutomationDryRunRequest'>;
type DryRun = RecordOf<'AutomationDryRun'>;
type PathStep = DryRun['path'][number];
type Because = DryRun['looks'][number]['because'];

/**
 * A dry run stops after this many evaluations. 200 steps and 100 supposed facts need at most two evaluations for each step and one for each
 * fact. Further evaluations are needed only when access begins or ends.
 */
const mostLooks = 500;

interface Scene {
  deps: VaultDeps;
  clubId: Id;
  timeZone: string;
  version: ReadVersion;
  student: Recipient & { id: Id };
  supposed: Supposed;
}

/**
 * Predicts a run of the draft or of a version for one student.
 * @throws DomainError not_found (no such automation, version, student or supposed id), invalid_definition (the draft has problems),
 *   invalid_request (a supposed fact is invalid)
 */
export async function dryRun(
  deps: VaultDeps,
  clubId: Id,
  automationId: Id,
  request: Request,
  now: Date,
): Promise<DryRun> {
  const { db } = deps;
  const { draft } = await findAutomation(db, clubId, automationId);
  const student = await findRecipient(db, clubId, request.student_id);
  const version =
    request.version === undefined
      ? readDefinition({ id: automationId, number: 0, definition: draft })
      : await readVersion(db, (await findVersion(db, automationId, request.version)).id);
  if (request.version === undefined) await requireNoProblems(db, clubId, draft);
  const supposed = await readSupposed(db, clubId, version, request, now);
  const entry = await entryOf(db, automationId, version.definition.reentry, student.id);
  return { entry, ...(await playOut({ deps, clubId, timeZone: student.timeZone, version, student, supposed })) };
}

async function findRecipient(
  db: Queries,
  clubId: Id,
  studentId: Id,
): Promise<Recipient & { id: Id; timeZone: string }> {
  const recipient = await db.one<Recipient & { id: Id; timeZone: string }>(sql`
    SELECT student.id, student.name, student.email, verified_at IS NOT NULL AS confirmed,
           verified_at IS NULL AND opened_by = 'sign_up' AS pending, club.time_zone AS "timeZone"
      FROM students student JOIN clubs club ON club.id = student.club_id
     WHERE student.id = ${studentId} AND student.club_id = ${clubId} AND student.removed_at IS NULL`);
  if (!recipient) throw notFound('student');
  return recipient;
}

interface Play {
  run: Standing;
  world: World;
  ahead: Supposed['facts'];
  at: Date;
  /** Whether the path already contains the step. */
  waiting: boolean;
  because: Because;
  path: Map<string, PathStep>;
  looks: DryRun['looks'];
}

async function playOut(scene: Scene): Promise<Omit<DryRun, 'entry'>> {
  const { version, supposed, student } = scene;
  const [first] = version.definition.steps;
  const play: Play = {
    run: {
      id: newId(),
      studentId: student.id,
      cursor: first?.id ?? null,
      deadline: first ? deadlineOf(first, scene.timeZone, supposed.begins) : null,
      accessKind: supposed.access?.kind ?? null,
      accessId: supposed.access?.id ?? null,
      wasOpen: false,
    },
    world: worldAsItIs(),
    ahead: [...supposed.facts],
    at: supposed.begins,
    waiting: false,
    because: 'entered',
    path: new Map(),
    looks: [],
  };
  applyDueFacts(play);
  let ending = await takeLook(scene, play);
  while (ending === undefined && play.looks.length < mostLooks) ending = await takeLook(scene, play);
  return {
    ...(version.number > 0 && { version: version.number }),
    status: 'active',
    ...ending,
    ...(play.run.cursor !== null && { step_id: play.run.cursor }),
    entered_at: supposed.begins.toISOString(),
    ...(ending && { ended_at: play.at.toISOString() }),
    path: [...play.path.values()].map((step) => withMail(step, play.world)),
    looks: play.looks,
  };
}

function withMail(step: PathStep, { mails }: World): PathStep {
  if (step.kind !== 'send_email') return step;
  const mail = mails.get(step.step_id);
  if (!mail) return { ...step, mail: { status: 'skipped' } };
  const { openedAt, clickedAt } = mail;
  return {
    ...step,
    mail: {
      status: 'sent',
      ...(openedAt && { opened_at: openedAt.toISOString() }),
      ...(clickedAt && { clicked_at: clickedAt.toISOString() }),
    },
  };
}

/** @returns the types of the facts that were due, which may wake the run */
function applyDueFacts(play: Play): Waking[] {
  const wakings: Waking[] = [];
  for (let next = play.ahead[0]; next && next.at <= play.at; next = play.ahead[0]) {
    play.ahead.shift();
    wakings.push(suppose(play.world, next));
  }
  return wakings;
}

type Ending = Pick<DryRun, 'status' | 'exit_reason' | 'error_code'>;

/** Evaluates the run once at the current time, and then moves the time to the next evaluation. */
async function takeLook(scene: Scene, play: Play): Promise<Ending | undefined> {
  const { deps, version, student } = scene;
  const { run, at } = play;
  const placed = placeOf(version, run.cursor);
  if ('code' in placed) return { status: 'failed', error_code: placed.code };
  const world = shadowing(play.world, { runId: run.id, studentId: student.id });
  const look = await lookAt(deps.db, version, placed, run, { automation: 'active', now: at, world });
  run.wasOpen = look.wasOpen;
  play.looks.push(present(look, play));
  const { step } = placed;
  const { decision } = look;
  switch (decision.kind) {
    case 'exit': {
      const { reason } = decision;
      if (reason === 'archived')
        throw new Error(`The decision for dry run ${run.id} says that its automation is archived`);
      if (reason === 'exit_step' || play.path.has(step.id)) leave(play, step, { outcome: reason });
      return { status: 'exited', exit_reason: reason };
    }
    case 'fail':
      enter(play, step).outcome = decision.code;
      return { status: 'failed', error_code: decision.code };
    case 'hold':
      throw new Error(`The decision for dry run ${run.id} is to hold it`);
    case 'wait':
      if (!play.waiting) enter(play, step);
      play.waiting = true;
      sleep(scene, play, { until: decision.until, look, factTypes: [] });
      return undefined;
    case 'pass':
      leave(play, step, {
        outcome: decision.outcome,
        ...(look.condition && { answers: [...look.answers.condition] }),
      });
      return advance(scene, play, { to: decision.to, look, factTypes: [] });
    case 'act': {
      const effect = await effectOf(scene, play, step);
      if ('code' in effect) {
        enter(play, step).outcome = effect.code;
        return { status: 'failed', error_code: effect.code };
      }
      leave(play, step, { outcome: effect.outcome });
      return advance(scene, play, { to: decision.to, look, factTypes: effect.factTypes });
    }
  }
}

function present({ placed, answers, decision }: Look, { at, because }: Play): DryRun['looks'][number] {
  return {
    at: at.toISOString(),
    step_id: placed.step.id,
    because,
    ...(answers.exitWhen.length > 0 && { exit_answers: answers.exitWhen }),
    ...(answers.condition.length > 0 && { answers: answers.condition }),
    ...(answers.open !== null && { access_open: answers.open }),
    decision: decision.kind as DryRun['looks'][number]['decision'],
  };
}

function enter({ path, run, at }: Play, { id, kind }: Step): PathStep {
  const entry = path.get(id);
  const pathStep: PathStep = entry ?? {
    step_id: id,
    kind,
    entered_at: at.toISOString(),
    ...(run.deadline !== null && { waits_until: run.deadline.toISOString() }),
  };
  path.set(id, pathStep);
  return pathStep;
}

function leave(play: Play, { id, kind }: Step, result: Pick<PathStep, 'outcome' | 'answers'>): void {
  const at = play.at.toISOString();
  play.path.set(id, { ...(play.path.get(id) ?? { step_id: id, kind, entered_at: at }), left_at: at, ...result });
}

interface Onwards {
  to: string | null;
  look: Look;
  /** The types of the facts that the completed step has recorded. */
  factTypes: readonly EventType[];
}

function advance(scene: Scene, play: Play, { to, look, factTypes }: Onwards): Ending | undefined {
  play.run.cursor = to;
  if (to === null) return { status: 'completed' };
  const placed = scene.version.steps.get(to);
  const deadline = placed ? deadlineOf(placed.step, scene.timeZone, play.at) : null;
  play.run.deadline = deadline;
  play.waiting = false;
  play.because = 'arrived';
  if (!placed || deadline === null || !sleepsAt(placed)) return undefined;
  play.waiting = true;
  enter(play, placed.step);
  sleep(scene, play, { until: deadline, look: { ...look, placed }, factTypes });
  return undefined;
}

/**
 * Advances the time to the next evaluation: to the end of the wait, to the beginning or end of access, or to a fact that the run watches.
 */
function sleep(
  { version }: Scene,
  play: Play,
  { until, look, factTypes }: { until: Date; look: Pick<Look, 'placed' | 'answers'>; factTypes: readonly EventType[] },
): void {
  const watch = watchOf(version.definition, look.placed);
  const isWatched = (woken: Waking) => woken === 'always' || (woken !== undefined && watch.types.includes(woken));
  play.because = 'fact';
  if (factTypes.some(isWatched)) return;
  const wakes = nextLook(watch, until, look.answers.nextChange);
  for (let next = play.ahead[0]; next && next.at <= wakes; next = play.ahead[0]) {
    play.at = next.at;
    if (applyDueFacts(play).some(isWatched)) return;
  }
  play.at = wakes;
  play.because = wakes < until ? 'access' : 'deadline';
}

/** @returns the outcome of the step and the types of its facts, or an error code */
async function effectOf(
  { deps, clubId, student }: Scene,
  { world, run, at }: Play,
  step: Step,
): Promise<{ outcome: string; factTypes: EventType[] } | { code: string }> {
  const { db, vault } = deps;
  if (step.kind === 'award_points') return { outcome: 'awarded', factTypes: [] };
  if (step.kind === 'send_email') {
    const skipReason = await reasonToSkip(db, vault, clubId, student);
    if (skipReason === undefined) world.mails.set(step.id, { openedAt: null, clickedAt: null });
    return { outcome: skipReason ?? 'sent', factTypes: [] };
  }
  const tag = await db.one<{ has: boolean }>(sql`${shadowing(world, { runId: run.id, studentId: student.id })}
    SELECT EXISTS (SELECT FROM student_tags WHERE student_id = ${student.id} AND tag_id = ${step.tag_id}) AS has
      FROM tags WHERE id = ${step.tag_id} AND club_id = ${clubId} AND removed_at IS NULL`);
  if (!tag) return { code: 'not_found' };
  const adds = step.kind === 'add_tag';
  if (tag.has === adds) return { outcome: adds ? 'tagged_already' : 'not_tagged', factTypes: [] };
  suppose(world, { kind: adds ? 'student_tagged' : 'student_untagged', tag_id: step.tag_id ?? '', at, endsAt: null });
  return adds
    ? { outcome: 'tagged', factTypes: ['student.tagged'] }
    : { outcome: 'untagged', factTypes: ['student.untagged'] };
}
