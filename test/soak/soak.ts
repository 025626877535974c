/** The run: people at a steady pace, kills in turn, retention, a look each minute, and the tally. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { readConfig } from '../../config.ts';
import { components } from '../../dev/components/catalogue.ts';
import { locate } from '../../dev/components.ts';
import { startFakeModel, type FakeModel } from '../../dev/fake-model.ts';
import { projectDirectory } from '../../dev/project.ts';
import { createDataSource } from '../../entities/data-source.ts';
import { createObjectStore } from '../../platform/infra/object-store.ts';
import { Database } from '../../platform/infra/postgres/database.ts';
import { createNotifier } from '../../platform/infra/postgres/notifications.ts';
import { createVault } from '../../platform/infra/vault.ts';
import { realVideo } from '../toolkit/builders/real-videos.ts';
import { trouble } from '../faults/agents.ts';
import { askOnce, type Seen } from '../faults/agents/asker.ts';
import { buildClass } from '../faults/agents/class.ts';
import { tallyAnswers } from '../faults/agents/tally.ts';
import { buildAudience } from '../faults/audience.ts';
import { waitSpeed } from '../faults/automations/scene.ts';
import { factsAbout } from '../faults/facts.ts';
import { onMailGround, type MailGround } from '../faults/mail/place.ts';
import { createErrands, errandsOfAClub, type Told } from '../faults/media/errands.ts';
import { buildLibraries, type Library } from '../faults/media/libraries.ts';
import { tallyFiles, unfinished } from '../faults/media/tally.ts';
import { untilDone } from '../faults/patience.ts';
import { progress } from '../faults/progress.ts';
import { between } from '../faults/ranges.ts';
import { startCounting } from '../faults/receipts.ts';
import { tallyDeliveries } from '../faults/tally.ts';
import { openCampaigns } from './campaigns.ts';
import { tableSizes, waitingIn } from './database.ts';
import { openJourneys } from './journeys.ts';
import { cpuCounter, familyOf, heapOf, useOf, type Use } from './processes.ts';
import { retainFast } from './retention.ts';
import { growthOf, longLived, type Sample } from './samples.ts';
import { openSchool } from './school.ts';
import { secondOf, type Second } from './seconds.ts';
import { together, type Held } from './tally.ts';

/** Milliseconds between two of a kind: some 3,000 facts an hour, and half a core. */
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
  look: 60_000,
} as const;
/** Of a run shorter than three quarters of an hour each victim has its turn, too. */
const longestBetweenKillsMs = 3 * 60_000;
const killsAtLeast = 8;
const deadForMs = { least: 0, most: 5_000 };
/** Nothing breaks down so shortly before the end: the breaker would hold its endpoint beyond it. */
const quietAtEndMs = 15 * 60_000;
/** What is under way at the end may take so long: two waits of a mail, and the sweeper's round. */
const endsWithinMs = 12 * 60_000;
const clubsWithFiles = 10;
/** One video in so many is uploaded; ffmpeg would have a core for itself. */
const videoEvery = 4;
const hourMs = 3_600_000;

const victims = ['second worker', 'second API', 'Temporal', 'Postgres', 'S3', 'mail server'] as const;
type SoakVictim = (typeof victims)[number];

/** @returns the exit code: 0 when nothing was lost or is there twice; 130 when it was interrupted */
export async function soak(hours: number, interrupted: Promise<unknown>): Promise<number> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'club-learning-soak-'));
  const model = await startFakeModel();
  const words = Array.from({ length: 20 }, (_, index) => `word${index} `);
  model.rule(() => ({ answer: words, delayMs: 20, ...trouble() }));
  const seconds: Second[] = [];
  try {
    const env = {
      AUTOMATION_WAIT_SPEED: String(waitSpeed),
      MAIL_WARM_UP: 'off',
      ANTHROPIC_BASE_URL: model.url,
      ANTHROPIC_API_KEY: 'unused',
      FFMPEG_BINARY: await locate(components.ffmpeg),
      SOAK_HEAP_DIRECTORY: directory,
      NODE_OPTIONS: `--expose-gc --import=${pathToFileURL(path.join(projectDirectory, 'test/soak/heap-probe.mjs')).href}`,
    };
    return await onMailGround(interrupted, (place) => live(place, { hours, model, directory, seconds }), env, [
      'temporal',
      'postgres',
      'storage',
    ]);
  } finally {
    await Promise.all(seconds.map((second) => second.kill()));
    await model.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

interface Run {
  hours: number;
  model: FakeModel;
  directory: string;
  /** Started by the run; whoever ends it kills them. */
  seconds: Second[];
}

async function live(place: MailGround, { hours, model, directory, seconds }: Run): Promise<number> {
  const { ground, log } = place;
  const config = readConfig(ground.env);
  const source = await createDataSource(config.database, 'club-soak').initialize();
  const db = new Database(
    source,
    createNotifier(source, () => {}),
  );
  const vault = createVault(config.masterKey);
  const storage = createObjectStore(config.storage);
  const deps = { db, vault, storage };
  const ms = hours * hourMs;
  const most = (pace: number) => Math.ceil(ms / pace) + 10;

  await mkdir(path.join(directory, 'logs'), { recursive: true });
  const [secondWorker, secondApi] = [secondOf(ground, 'worker', directory), secondOf(ground, 'API', directory)];
  seconds.push(secondWorker, secondApi);
  await Promise.all(seconds.map((second) => second.start()));
  const eitherApi = () => (Math.random() < 0.5 ? ground.urls.API : secondApi.url);

  const receipts = await startCounting(await ground.stack.authority.issue(['127.0.0.1']));
  const subjects = await buildAudience(source, vault, most(everyMs.change), receipts.urlOf);
  const author = factsAbout(subjects, { db, apiUrl: ground.urls.API, everyMs: 0 });
  const school = await openSchool(deps, {
    api: eitherApi,
    completions: most(everyMs.lesson),
    urlOf: receipts.urlOf,
  });
  const classroom = await buildClass(source, 12);
  const seen: Seen[] = [];
  const campaigns = await openCampaigns(source, ground);
  const journeys = await openJourneys(deps, most(everyMs.journey));
  const libraries = await buildLibraries(source, clubsWithFiles);
  const errands = createErrands(ground.urls.API, await realVideo('640x480'));
  const told: Told[] = [];
  let errand = 0;
  let asked = 0;
  let retained = 0;
  const kills: SoakVictim[] = [];
  const samples: Sample[] = [];

  const beganAt = performance.now();
  const left = () => ms - (performance.now() - beganAt);
  const over = new AbortController();
  const pending = new Set<Promise<unknown>>();
  const failures: unknown[] = [];
  const begin = (work: () => Promise<unknown>) => {
    const one: Promise<unknown> = work()
      .catch((error: unknown) => failures.push(error))
      .finally(() => pending.delete(one));
    pending.add(one);
  };
  /** Begins it at this pace, however long one takes, until the time is over. */
  const paced = async (pace: number, work: () => Promise<unknown>, until = 0) => {
    await sleep(Math.random() * Math.min(pace, ms / 4));
    while (left() > until) {
      begin(work);
      await sleep(Math.min(pace * between({ least: 0.8, most: 1.2 }), Math.max(0, left() - until)));
    }
  };

  async function upload(): Promise<void> {
    const number = errand++;
    const isVideo = number % errandsOfAClub === errandsOfAClub - 1;
    if (isVideo && Math.floor(number / errandsOfAClub) % videoEvery !== 0) return;
    told.push(...(await errands.run(number, libraries[number % libraries.length] as Library)));
  }

  async function ask(): Promise<void> {
    const token = classroom.tokens[asked++ % classroom.tokens.length] ?? '';
    seen.push(await askOnce({ ...classroom, apiUrl: eitherApi() }, token, 'Which knot?', over.signal));
  }

  const paceOfKills = Math.min(longestBetweenKillsMs, ms / (killsAtLeast + 1));
  async function killInTurns(): Promise<void> {
    for (let turn = 0; ; turn++) {
      await sleep(paceOfKills);
      if (left() < paceOfKills / 2) return;
      const victim = victims[turn % victims.length] as SoakVictim;
      await kill(victim);
      kills.push(victim);
      await sleep(between(deadForMs));
      await startAgain(victim);
    }
  }

  function kill(victim: SoakVictim): Promise<void> {
    if (victim === 'second worker') return secondWorker.kill();
    if (victim === 'second API') return secondApi.kill();
    return place.kill(victim as never);
  }

  function startAgain(victim: SoakVictim): Promise<void> {
    if (victim === 'second worker') return secondWorker.start();
    if (victim === 'second API') return secondApi.start();
    return place.startAgain(victim as never);
  }

  const cpu = cpuCounter();
  let last = { cpu: cpu(), at: performance.now() };
  async function look(): Promise<void> {
    const pids = {
      ...ground.pids,
      'second worker': secondWorker.pid,
      'second API': secondApi.pid,
      Temporal: ground.stack.pids.temporal,
      S3: ground.stack.pids.storage,
      'soak itself': process.pid,
    };
    const processes: Record<string, Use> = {};
    for (const [name, pid] of Object.entries(pids)) {
      const heap =
        pid !== undefined && longLived.some((one) => one === name) ? await heapOf(pid, directory) : undefined;
      const use = pid === undefined ? undefined : useOf(pid);
      if (use) processes[name] = { ...use, ...(heap !== undefined && { heap }) };
    }
    const postgres = ground.stack.pids.postgres;
    if (postgres !== undefined) {
      const all = familyOf(postgres).flatMap(({ pid }) => useOf(pid) ?? []);
      processes['Postgres'] = {
        rss: all.reduce((sum, { rss }) => sum + rss, 0),
        handles: all.reduce((sum, { handles }) => sum + handles, 0),
      };
    }
    const [tables, waiting] = [await untilDone(() => tableSizes(source)), await untilDone(() => waitingIn(source))];
    const histories = await untilDone(() => historiesIn(config.temporal));
    const now = { cpu: cpu(), at: performance.now() };
    const cores = ((now.cpu - last.cpu) * 1_000) / (now.at - last.at);
    last = now;
    const sample: Sample = {
      x: (now.at - beganAt) / hourMs,
      processes,
      tables,
      waiting,
      histories,
      cores,
    };
    samples.push(sample);
    progress(lineOf(sample));
  }

  function lineOf({ x, processes, tables, waiting, histories, cores }: Sample): string {
    const mib = (bytes = Number.NaN) => (bytes / 2 ** 20).toFixed(0);
    const memory = longLived
      .map((name) => `${name} ${mib(processes[name]?.rss)} MiB (heap ${mib(processes[name]?.heap)})`)
      .join(', ');
    const handles = longLived.reduce((sum, name) => sum + (processes[name]?.handles ?? 0), 0);
    const size = tables.reduce((sum, { bytes }) => sum + bytes, 0);
    const { sales, signUps, lessons } = school.done;
    return (
      `${(x * 60).toFixed(1)} min: changes ${author.committed}, sales ${sales.length}, sign-ups ${signUps.length}, lessons ${lessons.length}, ` +
      `questions ${seen.length}, journeys ${journeys.entered}, mails of campaigns ${campaigns.mails}, files ${told.length}; ${kills.length} kills` +
      `${kills.length > 0 ? ` (last: ${kills.at(-1)})` : ''}; ${memory}, ${handles} handles, ${waiting.connections} connections; ` +
      `tables ${mib(size)} MiB, ${retained} rows retained fast; ${histories.open} runs open, longest history ${histories.longest} events; ` +
      `waiting: facts ${waiting.facts} (${waiting.factsLag.toFixed(0)} s), wakes ${waiting.wakes}, deliveries ${waiting.deliveries}; ${cores.toFixed(2)} cores`
    );
  }

  const endpoints = [...new Set(subjects.flatMap((subject) => subject.endpoints))];
  progress(
    `everything is up; people are busy for ${hours} h, and something is killed every ${(paceOfKills / 60_000).toFixed(1)} min`,
  );
  await Promise.all([
    paced(everyMs.change, () => author.commit(1)),
    paced(everyMs.sale, () => school.sell()),
    paced(everyMs.lesson, () => school.completeLesson()),
    paced(everyMs.signUp, () => school.signUp()),
    paced(everyMs.question, ask),
    paced(everyMs.journey, () => journeys.enter()),
    paced(everyMs.upload, upload),
    paced(everyMs.campaign, () => campaigns.sendOne()),
    paced(
      everyMs.breakdown,
      async () => receipts.breakDown(endpoints[Math.floor(Math.random() * endpoints.length)] ?? ''),
      quietAtEndMs,
    ),
    paced(everyMs.retention, async () => {
      // Postgres or S3 may be dead: the next round goes on.
      retained += await retainFast(deps).catch(() => 0);
    }),
    paced(everyMs.look, look),
    killInTurns(),
  ]);
  const busyHours = (performance.now() - beganAt) / hourMs;
  progress('people have stopped; waiting for what is under way');
  const deadline = performance.now() + endsWithinMs;
  setTimeout(() => over.abort(), endsWithinMs).unref();
  const underWay = async () => {
    const { facts, deliveries } = await waitingIn(source);
    const [notices] = await source.query<{ count: number }[]>(
      `SELECT count(*)::int AS count FROM sales_notices WHERE status = 'pending'`,
    );
    return {
      calls: pending.size,
      facts,
      deliveries,
      notices: notices?.count ?? 0,
      campaigns: await campaigns.left(),
      journeys: await journeys.left(),
      files: await unfinished(source),
    };
  };
  for (let looks = 0; performance.now() < deadline; looks++) {
    const now = await underWay();
    if (Object.values(now).every((count) => count === 0)) break;
    if (looks % 15 === 0)
      progress(
        `under way: ${Object.entries(now)
          .filter(([, count]) => count > 0)
          .map(([name, count]) => `${name} ${count}`)
          .join(', ')}`,
      );
    await sleep(2_000);
  }
  for (const error of failures) progress(`failed: ${String(error)}`);

  const held = together([
    await heldDeliveries(),
    await school.tally(log, receipts),
    await heldAnswers(),
    await campaigns.tally(log),
    await journeys.tally(log),
    await heldFiles(),
    { facts: 0, lost: failures.map(String), twice: [] },
  ]);
  storage.close();
  await Promise.all([receipts.stop(), source.destroy()]);
  report(held, samples, { hours, busyHours, kills: kills.length, endedByItself: ground.endedByItself });
  return held.lost.length + held.twice.length === 0 ? 0 : 1;

  async function heldDeliveries(): Promise<Held> {
    const { lost } = await tallyDeliveries(source, subjects.slice(0, author.committed), receipts);
    return { facts: author.committed, lost, twice: [] };
  }

  async function heldAnswers(): Promise<Held> {
    const { lost, torn, miscounted } = await tallyAnswers(source, seen, model.requests);
    return { facts: seen.length, lost: [...lost, ...torn], twice: miscounted };
  }

  async function heldFiles(): Promise<Held> {
    const { lost, miscounted, ownerless } = await tallyFiles(source, config.storage, told);
    return { facts: told.length, lost, twice: [...miscounted, ...ownerless] };
  }
}

/** At most so many open runs are asked for the length of their history. */
const runsAsked = 100;

async function historiesIn({
  address,
  namespace,
}: {
  address: string;
  namespace: string;
}): Promise<Sample['histories']> {
  const connection = await Connection.connect({ address });
  try {
    const { workflow } = new Client({ connection, namespace });
    const { count } = await workflow.count(`ExecutionStatus = 'Running'`);
    let longest = 0;
    let asked = 0;
    for await (const { workflowId, runId } of workflow.list({ query: `ExecutionStatus = 'Running'` })) {
      if (++asked > runsAsked) break;
      const described = await workflow
        .getHandle(workflowId, runId)
        .describe()
        .catch(() => undefined); // it has just ended
      longest = Math.max(longest, described?.historyLength ?? 0);
    }
    return { open: count, longest };
  } finally {
    await connection.close();
  }
}

const linesShown = 20;

function report(
  { facts, lost, twice }: Held,
  samples: readonly Sample[],
  {
    hours,
    busyHours,
    kills,
    endedByItself,
  }: { hours: number; busyHours: number; kills: number; endedByItself: number },
): void {
  const print = (line: string) => process.stdout.write(`${line}\n`);
  const { memory, heap, tables, handles, details } = growthOf(samples, busyHours);
  const cores = samples.reduce((sum, sample) => sum + sample.cores, 0) / Math.max(1, samples.length);
  for (const line of details) print(line);
  print(`longest history ${Math.max(0, ...samples.map((sample) => sample.histories.longest))} events`);
  print(`${kills} kills; processes that ended by themselves: ${endedByItself}; ${cores.toFixed(2)} cores on average`);
  for (const line of lost.slice(0, linesShown)) print(`lost: ${line}`);
  for (const line of twice.slice(0, linesShown)) print(`twice: ${line}`);
  const shown = ({ percent, error }: { percent: number; error: number }) =>
    `${percent.toFixed(1)} %/h (± ${error.toFixed(1)})`;
  print(
    `RSS ${shown(memory)}, heap after garbage collection ${shown(heap)}, tables ${shown(tables)}: with standard errors`,
  );
  print(
    `hours ${hours}, facts ${facts}, lost ${lost.length}, twice ${twice.length}, ` +
      `growth: memory ${memory.percent.toFixed(1)} %/h, tables ${tables.percent.toFixed(1)} %/h, handles ${handles}`,
  );
}
