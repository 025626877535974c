/** Checks PromQL against the metrics that the service serves. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { register } from 'prom-client';
import { groupingLabelsIn, seriesIn } from '../../../dev/alerts/promql.ts';
import { projectDirectory } from '../../../dev/project.ts';
import { registerBacklogGauges } from '../../../worker/reports/metrics.ts';

interface WireNames {
  metrics: { name: string; labels: string[] }[];
}

/** Prometheus adds these series for each scrape. */
export const servedByPrometheus = new Set(['up']);
/** Prometheus adds these labels to each series; `le` belongs to histograms. */
const usualLabels = ['job', 'instance', 'le'];

/** test/wire-names.json does not contain these metrics, because their names come from variables. */
const others = [{ name: 'media_ffmpeg_there', labels: [] }];

/**
 * @returns one sentence for each fault. A fault is a series or label that the service does not serve, or a gauge from Postgres without
 * `max`
 */
export function misuseIn(expr: string): string[] {
  const { metrics } = JSON.parse(
    readFileSync(path.join(projectDirectory, 'test', 'wire-names.json'), 'utf8'),
  ) as WireNames;
  const known = new Map([...metrics, ...others].map(({ name, labels }) => [name, labels]));
  const usedSeries = seriesIn(expr).map((series) => ({ ...series, labelsOf: labelsOf(known, series.name) }));
  const groupable = new Set([...usualLabels, ...usedSeries.flatMap((series) => series.labelsOf ?? [])]);
  const ofPostgres = toldByPostgres();
  return [
    ...usedSeries.flatMap(({ name, labels, labelsOf: served }) =>
      served === undefined
        ? [`${name} is not served`]
        : labels
            .filter((label) => !served.includes(label) && !usualLabels.includes(label))
            .map((label) => `${name} has no label ${label}`),
    ),
    ...groupingLabelsIn(expr)
      .filter((label) => !groupable.has(label))
      .map((label) => `no series has the label ${label}`),
    ...usedSeries
      .filter(({ name, before }) => ofPostgres.has(name) && !/\bmax(?: by \([\w, ]+\))? ?\($/.test(before))
      .map(({ name }) => `${name} is not aggregated by max`),
  ];
}

function labelsOf(known: ReadonlyMap<string, readonly string[]>, name: string): readonly string[] | undefined {
  if (servedByPrometheus.has(name)) return [];
  return known.get(name) ?? known.get(name.replace(/_(bucket|count|sum)$/, ''));
}

/** @returns the gauges that every worker reads from Postgres. All workers report equal values for them */
export function toldByPostgres(): Set<string> {
  const before = new Set(register.getMetricsAsArray());
  const remove = registerBacklogGauges({ source: {} } as never, { ageSeconds: () => undefined });
  const names = register
    .getMetricsAsArray()
    .filter((metric) => !before.has(metric))
    .map(({ name }) => name);
  remove();
  return new Set(names);
}
