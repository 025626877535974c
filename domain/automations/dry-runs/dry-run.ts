/**
 * What a run would do, and when: the looks, decisions and waits of real runs, over a world that is supposed. Nothing is written, no
 * row is locked, and no transaction stays open while it goes on (AUTO-19).
 */
import type { RecordOf } from '../../../contract/contract.ts';
import type { EventType } from '../../../platform/core/event-types.ts';
import { notFound } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { VaultDeps } from '../../deps.ts';
import type { Step } from '../definition.policy.ts';
import { entryOf } from '../entering/entering.ts';
import { deadlineOf, nextLook, sleepsAt, watchOf } from '../interpreter.policy.ts';
import { requireNoProblems } from '../problems.ts';
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

/** 200 steps of two looks each, and 100 facts; what access adds by its beginnings and ends is cut off. */
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
 * Plays the draft, or a version, for one student.
 * @throws DomainError not_found (the automation, the version, the student, an id that is supposed), invalid_definition (a draft with
 *   problems), invalid_request (what is supposed)
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
  const found = await db.one<Recipient & { id: Id; timeZone: string }>(sql`
    SELECT student.id, student.name, student.email, verified_at IS NOT NULL AS confirmed,
           verified_at IS NULL AND opened_by = 'sign_up' AS pending, club.time_zone AS "timeZone"
      FROM students student JOIN clubs club ON club.id = student.club_id
     WHERE student.id = ${studentId} AND student.club_id = ${clubId} AND student.removed_at IS NULL`);
  if (!found) throw notFound('student');
  return found;
}

/** The run as its row would be, its path, and the looks. */
interface Play {
  run: Standing;
  world: World;
  /** Facts that have not happened yet. */
  ahead: Supposed['facts'];
  at: Date;
  /** Whether the step is on the path already. */
  waiting: boolean;
  because: Because;
  path: Map<string, PathStep>;
  looks: DryRun['looks'];
}

async function playOut(scene: Scene): Promise<Omit<DryRun, 'entry'>> {
  const { version, supposed, student } = scene;
  const [first] = version.definition.steps;
  const begun: Play = {
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
  happen(begun);
  let ending = await takeLook(scene, begun);
  while (ending === undefined && begun.looks.length < mostLooks) ending = await takeLook(scene, begun);
  return {
    ...(version.number > 0 && { version: version.number }),
    status: 'active',
    ...ending,
    ...(begun.run.cursor !== null && { step_id: begun.run.cursor }),
    entered_at: supposed.begins.toISOString(),
    ...(ending && { ended_at: begun.at.toISOString() }),
    path: [...begun.path.values()].map((step) => withMail(step, begun.world)),
    looks: begun.looks,
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

/** Lets every supposed fact happen whose time has come. @returns what they wake */
function happen(play: Play): Waking[] {
  const woken: Waking[] = [];
  for (let next = play.ahead[0]; next && next.at <= play.at; next = play.ahead[0]) {
    play.ahead.shift();
    woken.push(suppose(play.world, next));
  }
  return woken;
}

type Ending = Pick<DryRun, 'status' | 'exit_reason' | 'error_code'>;

/** One look, and what follows from it up to the next. @returns the end, where it has come */
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
      if (reason === 'archived') throw new Error('Nobody archives a dry run');
      if (reason === 'exit_step' || play.path.has(step.id)) leave(play, step, { outcome: reason });
      return { status: 'exited', exit_reason: reason };
    }
    case 'fail':
      enter(play, step).outcome = decision.code;
      return { status: 'failed', error_code: decision.code };
    case 'hold':
      throw new Error('Nobody holds a dry run');
    case 'wait':
      if (!play.waiting) enter(play, step);
      play.waiting = true;
      sleep(scene, play, { until: decision.until, look, told: [] });
      return undefined;
    case 'pass':
      leave(play, step, {
        outcome: decision.outcome,
        ...(look.condition && { answers: [...look.answers.condition] }),
      });
      return goOn(scene, play, { to: decision.to, look, told: [] });
    case 'act': {
      const effect = await effectOf(scene, play, step);
      if ('code' in effect) {
        enter(play, step).outcome = effect.code;
        return { status: 'failed', error_code: effect.code };
      }
      leave(play, step, { outcome: effect.outcome });
      return goOn(scene, play, { to: decision.to, look, told: effect.told });
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

/** The step is on the path from now on. */
function enter({ path, run, at }: Play, { id, kind }: Step): PathStep {
  const known = path.get(id);
  const entered: PathStep = known ?? {
    step_id: id,
    kind,
    entered_at: at.toISOString(),
    ...(run.deadline !== null && { waits_until: run.deadline.toISOString() }),
  };
  path.set(id, entered);
  return entered;
}

function leave(play: Play, { id, kind }: Step, passed: Pick<PathStep, 'outcome' | 'answers'>): void {
  const at = play.at.toISOString();
  play.path.set(id, { ...(play.path.get(id) ?? { step_id: id, kind, entered_at: at }), left_at: at, ...passed });
}

interface Onwards {
  to: string | null;
  look: Look;
  /** Facts that the step has told. */
  told: readonly EventType[];
}

function goOn(scene: Scene, play: Play, { to, look, told }: Onwards): Ending | undefined {
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
  sleep(scene, play, { until: deadline, look: { ...look, placed }, told });
  return undefined;
}

/** Lets time pass to the next look: the end of the wait, a change of access by time, or a fact that the run watches. */
function sleep(
  { version }: Scene,
  play: Play,
  { until, look, told }: { until: Date; look: Pick<Look, 'placed' | 'answers'>; told: readonly EventType[] },
): void {
  const watch = watchOf(version.definition, look.placed);
  const isWatched = (woken: Waking) => woken === 'always' || (woken !== undefined && watch.types.includes(woken));
  play.because = 'fact';
  if (told.some(isWatched)) return;
  const wakes = nextLook(watch, until, look.answers.nextChange);
  for (let next = play.ahead[0]; next && next.at <= wakes; next = play.ahead[0]) {
    play.at = next.at;
    if (happen(play).some(isWatched)) return;
  }
  play.at = wakes;
  play.because = wakes < until ? 'access' : 'deadline';
}

/** What the step would do. @returns its outcome and what it tells; a code where it cannot be */
async function effectOf(
  { deps, clubId, student }: Scene,
  { world, run, at }: Play,
  step: Step,
): Promise<{ outcome: string; told: EventType[] } | { code: string }> {
  const { db, vault } = deps;
  if (step.kind === 'award_points') return { outcome: 'awarded', told: [] };
  if (step.kind === 'send_email') {
    const skipped = await reasonToSkip(db, vault, clubId, student);
    if (skipped === undefined) world.mails.set(step.id, { openedAt: null, clickedAt: null });
    return { outcome: skipped ?? 'sent', told: [] };
  }
  const tag = await db.one<{ has: boolean }>(sql`${shadowing(world, { runId: run.id, studentId: student.id })}
    SELECT EXISTS (SELECT FROM student_tags WHERE student_id = ${student.id} AND tag_id = ${step.tag_id}) AS has
      FROM tags WHERE id = ${step.tag_id} AND club_id = ${clubId} AND removed_at IS NULL`);
  if (!tag) return { code: 'not_found' };
  const adds = step.kind === 'add_tag';
  if (tag.has === adds) return { outcome: adds ? 'tagged_already' : 'not_tagged', told: [] };
  suppose(world, { kind: adds ? 'student_tagged' : 'student_untagged', tag_id: step.tag_id ?? '', at, endsAt: null });
  return adds ? { outcome: 'tagged', told: ['student.tagged'] } : { outcome: 'untagged', told: ['student.untagged'] };
}
