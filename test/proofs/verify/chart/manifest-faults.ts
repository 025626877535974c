/** Checks the manifests of the chart by rules that no schema can express: which names must match, and which contents are forbidden. */
import { declarations } from '../../../../config.ts';
import { fileOf, variablesIn } from '../../../../platform/infra/variables.ts';
import { templateOf, type Resource } from './manifests.ts';

const variables = new Map(variablesIn(declarations).map((one) => [one.name, one]));

const labelsOf = (of: unknown): [string, string][] => Object.entries((of ?? {}) as Record<string, string>);

export function manifestFaults(resources: readonly Resource[]): string[] {
  const of = (...kinds: readonly string[]) => resources.filter(({ kind }) => kinds.includes(kind));
  const pods = of('Deployment', 'Job', 'Pod');
  const faults: string[] = [];
  const demand = (isRight: boolean, fault: string) => void (isRight || faults.push(fault));

  const names = resources.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
  demand(new Set(names).size === names.length, 'two resources have the same name');
  demand(of('Secret', 'ConfigMap').length === 0, 'it makes Secrets or ConfigMaps: hooks would run before them');

  for (const resource of pods) {
    const { kind, metadata } = resource;
    const at = `${kind} ${metadata.name}`;
    const template = templateOf(resource);
    if (!template) {
      faults.push(`${at} has no pods`);
      continue;
    }
    const [{ args, env, ports = [], volumeMounts }] = template.spec.containers;
    for (const { name, value } of env) {
      const plain = name.endsWith('_FILE') && !variables.has(name) ? name.slice(0, -'_FILE'.length) : name;
      const variable = variables.get(plain);
      if (variable === undefined) continue; // a variable of `extraEnv` in the values
      demand(!(variable.isSecret && name === plain && value !== undefined), `${at} shows the secret ${name}`);
      demand(
        name === plain || volumeMounts.some(({ mountPath }) => value === `${mountPath}/${plain}`),
        `${at}: ${fileOf(plain)} names a file that is not mounted`,
      );
    }
    const ofSdk = Number(env.find(({ name }) => name === 'TEMPORAL_METRICS_PORT')?.value ?? 0);
    demand(
      ofSdk === 0 || args[0] !== 'worker' || ports.some(({ containerPort }) => containerPort === ofSdk),
      `${at} does not show the port of TEMPORAL_METRICS_PORT`,
    );
    demand(new Set(env.map(({ name }) => name)).size === env.length, `${at} sets a variable twice`);
    const hooks = metadata.annotations?.['helm.sh/hook'] ?? '';
    const account = template.spec.serviceAccountName;
    demand(
      !hooks.includes('pre-install') || !of('ServiceAccount').some((one) => one.metadata.name === account),
      `${at} runs before its account ${account} is there`,
    );
    demand(kind === 'Deployment' || hooks !== '', `${at} is no hook`);
  }

  const portsOf = (selector: unknown) =>
    of('Deployment')
      .filter(({ spec }) =>
        labelsOf(selector).every(([name, value]) => spec?.template?.metadata.labels[name] === value),
      )
      .map(({ spec }) => spec?.template?.spec.containers[0].ports?.map(({ name }) => name) ?? []);
  for (const { kind, metadata, spec = {} } of resources) {
    const at = `${kind} ${metadata.name}`;
    const selector =
      kind === 'Service' ? spec['selector'] : (spec['selector'] as { matchLabels?: object } | undefined)?.matchLabels;
    if (kind !== 'NetworkPolicy' && selector) demand(portsOf(selector).length > 0, `${at} selects no pods`);
    if (kind === 'Service' || kind === 'Ingress')
      demand(!/metrics|8084|8081/.test(JSON.stringify(spec)), `${at} leads to metrics`);
    if (kind === 'Service')
      for (const { targetPort } of spec['ports'] as readonly { targetPort: string }[])
        demand(
          portsOf(selector).every((ports) => ports.includes(targetPort)),
          `${at}: no pod has the port ${targetPort}`,
        );
    if (kind === 'PodMonitor')
      for (const { port } of spec['podMetricsEndpoints'] as readonly { port: string }[])
        demand(
          portsOf((spec['selector'] as { matchLabels: object }).matchLabels).every((ports) => ports.includes(port)),
          `${at}: no pod has the port ${port}`,
        );
    if (kind === 'HorizontalPodAutoscaler') {
      const { name } = spec['scaleTargetRef'] as { name: string };
      const target = of('Deployment').find((one) => one.metadata.name === name);
      demand(target !== undefined && target.spec?.replicas === undefined, `${at} fights the replicas of ${name}`);
    }
  }
  return faults;
}
