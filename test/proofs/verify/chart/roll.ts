/**
 * Installs and replaces releases with the manifests that the chart renders, while facts and reads arrive. The steps are: install, upgrade,
 * roll back with one command, upgrade again, and remove the previous release. ./cluster.ts applies the manifests of each step.
 */
import path from 'node:path';
import { readConfig, declarations } from '../../../../config.ts';
import { locate } from '../../../../dev/components.ts';
import { components } from '../../../../dev/components/catalogue.ts';
import { setByChart } from '../../../../dev/generators/chart-files.ts';
import { Problem } from '../../../../dev/problem.ts';
import { createDataSource } from '../../../../entities/data-source.ts';
import { Database } from '../../../../platform/infra/postgres/database.ts';
import { createNotifier } from '../../../../platform/infra/postgres/notifications.ts';
import { variablesIn } from '../../../../platform/infra/variables.ts';
import { createVault } from '../../../../platform/infra/keys/vault.ts';
import { buildAudience } from '../../faults/audience.ts';
import { installBuilds, type BuildName } from '../../faults/deploy/builds.ts';
import { startProxy } from '../../faults/deploy/proxy.ts';
import { startReading } from '../../faults/deploy/reading.ts';
import { factsAbout } from '../../faults/facts.ts';
import { progress } from '../../faults/progress.ts';
import { startCounting } from '../../faults/receipts.ts';
import { tallyDeliveries, untilTold } from '../../faults/tally.ts';
import { startStackOn, type Site } from '../site.ts';
import { createCluster, type Cluster } from './cluster.ts';
import type { Helm } from './helm.ts';
import type { ReadManifests } from './manifests.ts';

const kubernetes = '1.37.0';
const secretName = 'club-learning';
const factsPerStep = 100;
const factEveryMs = 150;
/** After a refused attempt, the next attempt waits half a minute. */
const toldWithinMs = 3 * 60_000;

/** Each step has a current release, and a previous release if its workers still run. */
const steps: readonly { title: string; release: BuildName; previous?: BuildName }[] = [
  { title: 'upgrade', release: 'starboard', previous: 'port' },
  { title: 'rollback by one command', release: 'port', previous: 'starboard' },
  { title: 'upgrade again', release: 'starboard', previous: 'port' },
  { title: 'the previous release ends', release: 'starboard' },
];

/** @throws Problem when a fact is lost, a request is refused, or a process does not end within its grace period */
export async function roll(site: Site, helm: Helm, read: ReadManifests): Promise<void> {
  if (process.platform !== 'linux')
    throw new Problem('The roll needs Linux, because each pod gets an address of 127.0.0.0/8');
  const builds = await installBuilds(path.join(site.directory, 'builds'));
  const stack = await startStackOn(site);
  const receipts = await startCounting(await stack.authority.issue(['127.0.0.1']));
  site.stops.push(receipts.stop);
  const proxy = await startProxy({ looks: false });
  site.stops.push(proxy.stop);

  const environment: Record<string, string> = {
    ...stack.environment,
    TEMPORAL_NAMESPACE: 'made-by-setup',
    LOG_LEVEL: 'warn',
    PUBLIC_URL: proxy.url,
    FILES_URL: 'https://files.example.com',
    MAIL_FROM: 'no-reply@example.com',
    CLASSROOM_URL: 'https://classroom.example.com',
    DASHBOARD_URL: 'https://dashboard.example.com',
    FFMPEG_BINARY: await locate(components.ffmpeg),
  };
  const variables = variablesIn(declarations).filter(({ name }) => environment[name] !== undefined);
  const isOfConfig = ({ name, isSecret }: (typeof variables)[number]) => !isSecret && !Object.hasOwn(setByChart, name);
  const set = {
    'image.repository': 'club-learning',
    'secrets.name': secretName,
    ...Object.fromEntries(
      variables
        .filter(isOfConfig)
        .map(({ name }) => [`config.${name}`, (environment[name] ?? '').replaceAll(',', String.raw`\,`)]),
    ),
  };
  const manifestsOf = async ({ release, previous = '' }: { release: string; previous?: string }) => {
    const tags = { 'image.tag': release, 'previous.tag': previous };
    const yaml = await helm.render({ files: [valuesFile], set: { ...set, ...tags } }, kubernetes);
    const { resources, problems } = await read(yaml, [kubernetes]);
    if (problems.length > 0) throw new Problem(problems.join('\n'));
    return resources;
  };

  const cluster = createCluster({
    directory: path.join(site.directory, 'cluster'),
    builds,
    secrets: { [secretName]: environment },
    service: { tell: proxy.tell, remove: proxy.remove },
  });
  site.stops.push(() => cluster.stop());
  const first = await manifestsOf({ release: 'port' });
  await cluster.apply(first, 'install');
  await cluster.settled();
  await cluster.test(first);
  progress('installed');

  const config = readConfig(environment);
  const source = await createDataSource(config.database, 'club-verify').initialize();
  site.stops.push(() => source.destroy());
  const db = new Database(
    source,
    createNotifier(source, () => {}),
  );
  const facts = factsPerStep * steps.length;
  const subjects = await buildAudience(source, createVault(config.masterKey), facts, receipts.urlOf);
  const author = factsAbout(subjects, { db, apiUrl: proxy.url, everyMs: factEveryMs });
  const reading = startReading(subjects, proxy);

  for (const { title, ...tags } of steps) {
    const previousWorkers = pidsOf(cluster, 'worker');
    const manifests = await manifestsOf(tags);
    const committed = author.commit(factsPerStep);
    await cluster.apply(manifests, 'upgrade');
    const [current] = await source.query<{ build_id: string }[]>('SELECT build_id FROM releases WHERE is_current');
    if (current?.build_id !== builds[tags.release].buildId)
      throw new Problem(`${title}: the current build is ${current?.build_id}, not the build of ${tags.release}`);
    await Promise.all([cluster.settled(), committed]);
    requirePods(cluster, tags, title);
    // The previous release does not change, so Kubernetes does not restart its workers.
    const newWorkers = pidsOf(cluster, 'worker').filter((pid) => !previousWorkers.includes(pid));
    const isNew = title === 'upgrade';
    if (newWorkers.length !== (isNew ? 1 : 0))
      throw new Problem(`${title}: ${newWorkers.length} workers were started.`);
    progress(
      `${title}: ${tags.release} is current; ${author.committed} facts, ${proxy.answered} requests, ${proxy.refused.length} refused`,
    );
  }
  await reading.stop();
  await untilTold(source, toldWithinMs);
  const { lostFacts } = await tallyDeliveries(source, subjects, receipts);
  const wrong = [...lostFacts, ...proxy.refused, ...cluster.faults];
  progress(
    `roll: steps ${steps.length}, facts ${author.committed}, lost ${lostFacts.length}, requests refused ${proxy.refused.length}, of ${proxy.answered}`,
  );
  if (wrong.length > 0) throw new Problem(wrong.join('\n'));
}

const valuesFile = path.join(import.meta.dirname, 'roll.yaml');

const pidsOf = (cluster: Cluster, words: string) => cluster.pods(words).map(({ pid }) => pid);

function requirePods(cluster: Cluster, tags: { release: string; previous?: string }, title: string): void {
  const tagsOf = (words: string) => [...new Set(cluster.pods(words).map(({ tag }) => tag))].toSorted().join();
  const workers = [tags.release, ...(tags.previous === undefined ? [] : [tags.previous])].toSorted().join();
  if (tagsOf('-api') !== tags.release || tagsOf('-worker') !== workers)
    throw new Problem(`${title}: the API belongs to ${tagsOf('-api')}, the workers to ${tagsOf('-worker')}`);
}
