/**
 * Verifies the installation. The manifests of the chart must be valid for four versions of Kubernetes, and deploy/compose.yaml must be
 * valid for Compose. One release must also replace another release with the commands, variables, probes and grace periods of the chart.
 */
import { globSync } from 'node:fs';
import path from 'node:path';
import { messageOf, Problem } from '../../../dev/problem.ts';
import { progress } from '../faults/progress.ts';
import { verifyCompose } from './chart/compose.ts';
import { confinementFaults } from './chart/confinement-faults.ts';
import { findHelm, type Helm } from './chart/helm.ts';
import { manifestFaults } from './chart/manifest-faults.ts';
import { findManifestReader, templateOf, type ReadManifests, type Resource } from './chart/manifests.ts';
import { roll } from './chart/roll.ts';
import type { Site } from './site.ts';

/** The newest versions that `kubernetes-validate` knows. */
const kubernetesVersions = ['1.34.0', '1.35.0', '1.36.0', '1.37.0'];
const sets = globSync(path.join(import.meta.dirname, 'chart', 'values', '*.yaml')).toSorted();
/** A kind of the Prometheus operator, for which Kubernetes has no schema. */
const foreignKinds = ['PodMonitor'];

/** In upgrade.yaml, workers of the previous release do not get these task queues. */
const newQueues: readonly string[] = ['billing', 'moves'];

/** A file of Helm values. The values choose images by tags, and turn off network policies. */
const unconfined = 'own-servers.yaml';

/** Values that Helm must refuse, and a word that its error must contain. */
const refusedValues: readonly (readonly [set: Readonly<Record<string, string>>, word: string])[] = [
  [{ 'config.PUBLIC_ULR': 'https://api.example.com' }, 'PUBLIC_ULR'],
  [{ 'config.MASTER_KEY': 'in-plain-sight' }, 'MASTER_KEY'],
  [{ 'config.API_PORT': '80' }, 'API_PORT'],
  [{ 'secrets.name': '' }, 'secrets'],
  [{ 'image.repository': '' }, 'repository'],
  [{ 'image.digest': '' }, 'image.digest is not set'],
  [{ 'image.digest': 'latest' }, 'digest'],
  [{ 'previous.tag': '0.1.0' }, 'previous.digest is not set'],
  [{ 'workers.all.queues[0]': 'mails' }, 'queues'],
  [{ 'ingress.enabled': 'yes' }, 'ingress'],
  [{ 'networkPolicy.metricsNamespace': 'Not a name' }, 'metricsNamespace'],
  [{ 'workers.all.queues[0]': 'mail' }, 'no group of workers serves the task queue webhooks'],
];

export async function verifyChart(site: Site): Promise<string> {
  const helm = await findHelm();
  const read = await findManifestReader(path.join(site.directory, 'python'));
  const valid = await validateSets(helm, read);
  await refuseMistakes(helm);
  progress(`compose.yaml: ${await verifyCompose(site.directory)} services`);
  await roll(site, helm, read);
  return `chart: ${valid} resources valid, roll passed`;
}

async function validateSets(helm: Helm, read: ReadManifests): Promise<number> {
  let count = 0;
  for (const file of sets) {
    const name = path.basename(file);
    const problems: string[] = [];
    for (const version of kubernetesVersions) {
      await helm.lint({ files: [file] }, version).catch((error: unknown) => problems.push(messageOf(error)));
      const {
        resources,
        valid,
        problems: invalid,
        unknown,
      } = await read(await helm.render({ files: [file] }, version), [version]);
      const isConfined = name !== unconfined;
      problems.push(
        ...invalid,
        ...manifestFaults(resources),
        ...confinementFaults(resources, { digests: isConfined, policies: isConfined }),
        ...unknownQueues(resources),
      );
      const foreign = resources.filter(({ kind }) => foreignKinds.includes(kind)).length;
      if (unknown.some((kind) => !foreignKinds.includes(kind)) || valid + foreign !== resources.length)
        problems.push(
          `${resources.length - valid} resources are not valid for Kubernetes ${version}: ${unknown.join()}`,
        );
      if (version === kubernetesVersions.at(-1)) {
        progress(`${name}: ${resources.length} resources, ${valid} valid`);
        count += valid;
      }
    }
    if (problems.length > 0) throw new Problem(`${name}:\n${problems.join('\n')}`);
  }
  return count;
}

/** @returns a sentence for each Deployment of the previous release with a queue that the release does not know */
function unknownQueues(resources: readonly Resource[]): string[] {
  return resources
    .filter(({ metadata }) => metadata.labels?.['club-learning/track'] === 'previous')
    .flatMap((resource) => {
      const env = templateOf(resource)?.spec.containers[0].env ?? [];
      const queues = env.find(({ name }) => name === 'WORKER_TASK_QUEUES')?.value?.split(',') ?? [];
      const unknown = queues.filter((queue) => newQueues.includes(queue));
      return unknown.map((queue) => `${resource.metadata.name} gets the queue ${queue}, and does not know it`);
    });
}

async function refuseMistakes(helm: Helm): Promise<void> {
  const [first = ''] = sets.filter((file) => file.endsWith('least.yaml'));
  for (const [set, word] of refusedValues) {
    const message = await helm.render({ files: [first], set }, '1.37.0').then(() => 'nothing', messageOf);
    if (!message.includes(word))
      throw new Problem(`Helm must refuse ${JSON.stringify(set)} and name ${word}, but answered ${message}`);
  }
  progress(`refused: ${refusedValues.length} invalid values`);
}
