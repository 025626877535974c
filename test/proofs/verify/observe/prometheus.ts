/** Runs a Prometheus for the proof. Prometheus scrapes API and worker every second, and an alert fires as soon as its condition is true. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { startChild } from '../../../../dev/stack/children.ts';
import { freePorts, host } from '../../../../dev/stack/ports.ts';
import { Problem } from '../../../../dev/problem.ts';
import { untilOk } from '../../../../dev/stack/readiness.ts';
import type { Site } from '../site.ts';
import { rulesPath } from './rule-tests.ts';

interface Prometheus {
  firingAlerts(): Promise<Set<string>>;
  series(): Promise<string>;
  /** @throws Problem when an alert does not fire in time */
  untilFiring(names: readonly string[], withinMs: number): Promise<void>;
}

/** @param ports the ports of `/metrics` of an API and of a worker */
export async function startPrometheus(site: Site, ports: { api: number; worker: number }): Promise<Prometheus> {
  const directory = path.join(site.directory, 'prometheus');
  await mkdir(directory);
  await writeFile(path.join(directory, 'rules.yaml'), withoutWaits(readFileSync(rulesPath, 'utf8')));
  const jobs = Object.entries(ports).map(([name, port]) => ({
    job_name: `club-learning-${name}`,
    static_configs: [{ targets: [`${host}:${port}`] }],
  }));
  const config = {
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    rule_files: ['rules.yaml'],
    scrape_configs: jobs,
  };
  await writeFile(path.join(directory, 'prometheus.json'), JSON.stringify(config)); // JSON is YAML
  const { port } = await freePorts(['port']);
  const child = startChild({
    name: 'Prometheus',
    command: 'prometheus',
    args: [
      `--config.file=${path.join(directory, 'prometheus.json')}`,
      `--storage.tsdb.path=${path.join(directory, 'data')}`,
      `--web.listen-address=${host}:${port}`,
    ],
    logFile: path.join(directory, 'prometheus.log'),
  });
  site.stops.push(() => child.stop());
  const url = `http://${host}:${port}`;
  await untilOk(`${url}/-/ready`, { timeoutMs: 60_000, child });

  async function ask<T>(question: string): Promise<T> {
    const answer = await fetch(`${url}/api/v1/${question}`);
    if (!answer.ok) throw new Problem(`Prometheus answers ${answer.status} to ${question}`);
    return ((await answer.json()) as { data: T }).data;
  }
  const firing = async () => {
    const { alerts } = await ask<{ alerts: { state: string; labels: { alertname: string } }[] }>('alerts');
    return new Set(alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname));
  };
  return {
    firingAlerts: firing,
    series: async () => JSON.stringify(await ask(`series?match[]=${encodeURIComponent('{__name__=~".+"}')}`)),
    async untilFiring(names, withinMs) {
      const deadline = performance.now() + withinMs;
      for (;;) {
        const now = await firing();
        const missing = names.filter((name) => !now.has(name));
        if (missing.length === 0) return;
        if (performance.now() > deadline) throw new Problem(`Alerts did not fire in time: ${missing.join(', ')}`);
        await sleep(500);
      }
    },
  };
}

/** Removes the waiting times from the rules. The tests of the rules cover these times. */
const withoutWaits = (rules: string) => rules.replace(/^( +for:) \w+$/gm, '$1 0s');
