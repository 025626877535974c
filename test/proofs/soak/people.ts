/** Who is busy, at which pace, and what became of all that they did. */
import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig } from '../../../config.ts';
import type { FakeModel } from '../../../dev/fake-model/fake-model.ts';
import { createObjectStore } from '../../../platform/infra/store/object-store.ts';
import type { Database } from '../../../platform/infra/postgres/database.ts';
import { createVault } from '../../../platform/infra/keys/vault.ts';
import { realVideo } from '../../toolkit/builders/real-videos.ts';
import { askOnce, type Seen } from '../faults/agents/asker.ts';
import { buildClass } from '../faults/agents/class.ts';
import { tallyAnswers } from '../faults/agents/tally.ts';
import { buildAudience } from '../faults/audience.ts';
import { factsAbout } from '../faults/facts.ts';
import type { MailGround } from '../faults/mail/place.ts';
import { createErrands, errandsOfAClub, type Told } from '../faults/media/errands.ts';
import { buildLibraries, type Library } from '../faults/media/libraries.ts';
import { tallyFiles, unfinished } from '../faults/media/tally.ts';
import { between } from '../faults/ranges.ts';
import { startCounting } from '../faults/receipts.ts';
import { tallyDeliveries } from '../faults/tally.ts';
import { openCampaigns } from './campaigns.ts';
import { waitingIn } from './database.ts';
import { openJourneys } from './journeys.ts';
import { retainFast } from './retention.ts';
import { openSchool } from './school.ts';
import { holdFacts, together, type Held } from './tally.ts';

/** Milliseconds between two of a kind: some 2,800 facts an hour, on a fifth of a core without what is killed. */
const everyMs = {
  change: 4_000,
  sale: 10_000,
  lesson: 8_000,
  question: 15_000,
  signUp: 20_000,
  journey: 20_000,
  upload: 30_000,
  campaign: 6 * 60_000,
  breakdown: 10 * 60_000,
  retention: 60_000,
} as const;
/** No receiver breaks down so shortly before the end: the breaker would hold its endpoint beyond it. */
const quietAtEndMs = 15 * 60_000;
const askers = 12;
const clubsWithFiles = 10;
/** One video in so many is uploaded; ffmpeg would have a core for itself. */
const videoEvery = 4;

export interface People {
  /** Everybody does what they do until the time is over. */
  areBusy(left: () => number): Promise<unknown>;
  /** What they have done so far, for a line. */
  standing(): string;
  /** How many of each kind are under way. */
  underWay(): Promise<Record<string, number>>;
  /** Nobody waits for an answer any more. */
  giveUp(): void;
  tally(): Promise<Held>;
  leave(): Promise<void>;
}

/** @param ms how long they will be busy @param eitherApi address of the API that is called next */
export async function gatherPeople(
  { ground, log }: MailGround,
  { db, model, ms, eitherApi }: { db: Database; model: FakeModel; ms: number; eitherApi: () => string },
): Promise<People> {
  const config = readConfig(ground.env);
  const { source } = db;
  const vault = createVault(config.masterKey);
  const storage = createObjectStore(config.storage);
  const deps = { db, vault, storage };
  const most = (pace: number) => Math.ceil((1.3 * ms) / pace) + 10;

  const receipts = await startCounting(await ground.stack.authority.issue(['127.0.0.1']));
  const subjects = await buildAudience(source, vault, most(everyMs.change), receipts.urlOf);
  const endpoints = [...new Set(subjects.flatMap((subject) => subject.endpoints))];
  const author = factsAbout(subjects, { db, apiUrl: ground.urls.API, everyMs: 0 });
  const school = await openSchool(deps, { api: eitherApi, completions: most(everyMs.lesson), urlOf: receipts.urlOf });
  const classroom = await buildClass(source, askers);
  const campaigns = await openCampaigns(source, ground);
  const journeys = await openJourneys(deps, most(everyMs.journey));
  const libraries = await buildLibraries(source, clubsWithFiles);
  const errands = createErrands(ground.urls.API, await realVideo('640x480'));

  const seen: Seen[] = [];
  const told: Told[] = [];
  let [asked, errand] = [0, 0];
  const retention = { rows: 0, failed: 0 };
  const over = new AbortController();
  const calls = new Set<Promise<unknown>>();
  const failures: string[] = [];

  async function ask(): Promise<void> {
    const token = classroom.tokens[asked++ % classroom.tokens.length] ?? '';
    seen.push(await askOnce({ ...classroom, apiUrl: eitherApi() }, token, 'Which knot?', over.signal));
  }

  async function upload(): Promise<void> {
    const number = errand++;
    const isVideo = number % errandsOfAClub === errandsOfAClub - 1;
    if (isVideo && Math.floor(number / errandsOfAClub) % videoEvery !== 0) return;
    told.push(...(await errands.run(number, libraries[number % libraries.length] as Library)));
  }

  /** Postgres or S3 may be dead: the next round goes on. */
  async function retain(): Promise<void> {
    try {
      retention.rows += await retainFast(deps);
    } catch {
      retention.failed += 1;
    }
  }

  async function breakDown(): Promise<void> {
    receipts.breakDown(endpoints[Math.floor(Math.random() * endpoints.length)] ?? '');
  }

  function begin(work: () => Promise<unknown>): void {
    const one: Promise<unknown> = work()
      .catch((error: unknown) => failures.push(`a call failed: ${String(error)}`))
      .finally(() => calls.delete(one));
    calls.add(one);
  }

  async function heldChanges(): Promise<Held> {
    const { lost } = await tallyDeliveries(source, subjects.slice(0, author.committed), receipts);
    const ids = subjects.map(({ studentId }) => studentId);
    const events = await source.query<{ id: string }[]>(
      `SELECT student_id AS id FROM webhook_events WHERE type = 'student.updated' AND student_id = ANY ($1)`,
      [ids],
    );
    const { twice } = holdFacts(
      'event of a change of',
      ids,
      events.map(({ id }) => id),
    );
    return { facts: author.committed, lost, twice };
  }

  async function heldAnswers(): Promise<Held> {
    const { lost, torn, miscounted } = await tallyAnswers(source, seen, model.requests);
    return { facts: seen.length, lost: [...lost, ...torn], twice: miscounted };
  }

  async function heldFiles(): Promise<Held> {
    const { lost, miscounted, ownerless } = await tallyFiles(source, config.storage, told);
    return { facts: told.length, lost, twice: [...miscounted, ...ownerless] };
  }

  return {
    areBusy(left) {
      /** Begins it again and again, however long one takes. */
      const paced = async (pace: number, work: () => Promise<unknown>, until = 0) => {
        const rest = () => Math.max(0, left() - until);
        await sleep(Math.min(Math.random() * pace, rest() / 4));
        while (rest() > 0) {
          begin(work);
          await sleep(Math.min(pace * between({ least: 0.8, most: 1.2 }), rest()));
        }
      };
      return Promise.all([
        paced(everyMs.change, () => author.commit(1)),
        paced(everyMs.sale, school.sell),
        paced(everyMs.lesson, school.completeLesson),
        paced(everyMs.signUp, school.signUp),
        paced(everyMs.question, ask),
        paced(everyMs.journey, journeys.enter),
        paced(everyMs.upload, upload),
        paced(everyMs.campaign, campaigns.sendOne),
        paced(everyMs.breakdown, breakDown, quietAtEndMs),
        paced(everyMs.retention, retain),
      ]);
    },
    standing() {
      const { sales, signUps, lessons } = school.done;
      return (
        `changes ${author.committed}, sales ${sales.length}, sign-ups ${signUps.length}, lessons ${lessons.length}, questions ${seen.length}, ` +
        `journeys ${journeys.entered}, mails of campaigns ${campaigns.mails}, files ${told.length}; ` +
        `fast retention: ${retention.rows} rows, ${retention.failed} rounds cut off`
      );
    },
    async underWay() {
      const { facts, deliveries, notices } = await waitingIn(source);
      return {
        calls: calls.size,
        facts,
        deliveries,
        notices,
        campaigns: await campaigns.left(),
        journeys: await journeys.left(),
        files: await unfinished(source),
      };
    },
    giveUp: () => over.abort(),
    async tally() {
      return together([
        await heldChanges(),
        await school.tally(log, receipts),
        await heldAnswers(),
        await campaigns.tally(log),
        await journeys.tally(log),
        await heldFiles(),
        { facts: 0, lost: failures, twice: [] },
      ]);
    },
    async leave() {
      storage.close();
      await receipts.stop();
    },
  };
}
