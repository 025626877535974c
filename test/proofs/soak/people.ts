/** The people of a soak: what they do and how often, and the comparison of their actions with the effects. */
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
import { createErrands, errandsOfAClub, type ExpectedFile } from '../faults/media/errands.ts';
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
import { compareFacts, together, type FactTally } from './tally.ts';

/**
 * In milliseconds, between two actions of one kind. All actions together make about 2,800 facts an hour. Without kills they use a fifth of
 * a core.
 */
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
/**
 * During this last part of the soak no receiver breaks down. Otherwise the open breaker of a receiver would delay deliveries beyond the end
 * of the soak.
 */
const quietAtEndMs = 15 * 60_000;
const askers = 12;
const clubsWithFiles = 10;
/** Only every fourth video is uploaded. Otherwise ffmpeg would use a whole core. */
const videoEvery = 4;

export interface People {
  act(remainingMs: () => number): Promise<unknown>;
  standing(): string;
  underWay(): Promise<Record<string, number>>;
  giveUp(): void;
  tally(): Promise<FactTally>;
  close(): Promise<void>;
}

export async function gatherPeople(
  { ground, log }: MailGround,
  { db, model, ms, eitherApi }: { db: Database; model: FakeModel; ms: number; eitherApi: () => string },
): Promise<People> {
  const config = readConfig(ground.env);
  const { source } = db;
  const vault = createVault(config.masterKey);
  const storage = createObjectStore(config.storage);
  const deps = { db, vault, storage };
  const countFor = (pace: number) => Math.ceil((1.3 * ms) / pace) + 10;

  const receipts = await startCounting(await ground.stack.authority.issue(['127.0.0.1']));
  const subjects = await buildAudience(source, vault, countFor(everyMs.change), receipts.urlOf);
  const endpoints = [...new Set(subjects.flatMap((subject) => subject.endpoints))];
  const author = factsAbout(subjects, { db, apiUrl: ground.urls.API, everyMs: 0 });
  const school = await openSchool(deps, {
    api: eitherApi,
    completions: countFor(everyMs.lesson),
    urlOf: receipts.urlOf,
  });
  const classroom = await buildClass(source, askers);
  const campaigns = await openCampaigns(source, ground);
  const journeys = await openJourneys(deps, countFor(everyMs.journey));
  const libraries = await buildLibraries(source, clubsWithFiles);
  const errands = createErrands(ground.urls.API, await realVideo('640x480'));

  const seenQuestions: Seen[] = [];
  const expectedFiles: ExpectedFile[] = [];
  let [questionCount, errand] = [0, 0];
  const retention = { rows: 0, failed: 0 };
  const over = new AbortController();
  const calls = new Set<Promise<unknown>>();
  const failures: string[] = [];

  async function ask(): Promise<void> {
    const token = classroom.tokens[questionCount++ % classroom.tokens.length] ?? '';
    seenQuestions.push(await askOnce({ ...classroom, apiUrl: eitherApi() }, token, 'Which knot?', over.signal));
  }

  async function upload(): Promise<void> {
    const number = errand++;
    const isVideo = number % errandsOfAClub === errandsOfAClub - 1;
    if (isVideo && Math.floor(number / errandsOfAClub) % videoEvery !== 0) return;
    expectedFiles.push(...(await errands.run(number, libraries[number % libraries.length] as Library)));
  }

  /** Runs a round of retention. If Postgres or S3 is dead, the next round continues. */
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
    const call: Promise<unknown> = work()
      .catch((error: unknown) => failures.push(`a call failed: ${String(error)}`))
      .finally(() => calls.delete(call));
    calls.add(call);
  }

  async function tallyChanges(): Promise<FactTally> {
    const { lostFacts } = await tallyDeliveries(source, subjects.slice(0, author.committed), receipts);
    const ids = subjects.map(({ studentId }) => studentId);
    const events = await source.query<{ id: string }[]>(
      `SELECT student_id AS id FROM webhook_events WHERE type = 'student.updated' AND student_id = ANY ($1)`,
      [ids],
    );
    const { twice } = compareFacts(
      'event of a change of',
      ids,
      events.map(({ id }) => id),
    );
    return { facts: author.committed, lostFacts, twice };
  }

  async function countAnswers(): Promise<FactTally> {
    const { lostAnswers, torn, miscounted } = await tallyAnswers(source, seenQuestions, model.requests);
    return { facts: seenQuestions.length, lostFacts: [...lostAnswers, ...torn], twice: miscounted };
  }

  async function countFiles(): Promise<FactTally> {
    const { lostFiles, miscounted, ownerless } = await tallyFiles(source, config.storage, expectedFiles);
    return { facts: expectedFiles.length, lostFacts: lostFiles, twice: [...miscounted, ...ownerless] };
  }

  return {
    act(remainingMs) {
      /** Begins the work again and again at this pace, and does not wait until the previous work has ended. */
      const paced = async (pace: number, work: () => Promise<unknown>, until = 0) => {
        const restMs = () => Math.max(0, remainingMs() - until);
        await sleep(Math.min(Math.random() * pace, restMs() / 4));
        while (restMs() > 0) {
          begin(work);
          await sleep(Math.min(pace * between({ least: 0.8, most: 1.2 }), restMs()));
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
      const { sales, signUps, lessons } = school.acknowledged;
      return (
        `changes ${author.committed}, sales ${sales.length}, sign-ups ${signUps.length}, lessons ${lessons.length}, questions ${seenQuestions.length}, ` +
        `journeys ${journeys.entered}, mails of campaigns ${campaigns.mails}, files ${expectedFiles.length}; ` +
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
        campaigns: await campaigns.openCount(),
        journeys: await journeys.openCount(),
        files: await unfinished(source),
      };
    },
    giveUp: () => over.abort(),
    async tally() {
      return together([
        await tallyChanges(),
        await school.tally(log, receipts),
        await countAnswers(),
        await campaigns.tally(log),
        await journeys.tally(log),
        await countFiles(),
        { facts: 0, lostFacts: failures, twice: [] },
      ]);
    },
    async close() {
      storage.close();
      await receipts.stop();
    },
  };
}
