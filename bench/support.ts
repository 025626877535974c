/** Code of all benchmarks: starts a separate stack and our processes, waits with a time limit, and prints figures. */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { allocatorSettings } from '../dev/stack/allocator.ts';
import { describeExit, startChild, type Child } from '../dev/stack/children.ts';
import { freePorts } from '../dev/stack/ports.ts';
import { projectDirectory, scriptArguments, typescriptArguments } from '../dev/project.ts';
import { until } from '../dev/stack/readiness.ts';
import { startStack, type PartName, type Stack } from '../dev/stack/stack.ts';
import { recordLine } from './figures.ts';

export interface Bench {
  stack: Stack;
  env: Record<string, string>;
  /** Waits until the program is ready. @returns its port */
  launch(script: string, portVariable: string, env?: Record<string, string>): Promise<{ port: number; child: Child }>;
}

/** The measured processes are traced if this process has the variables of tracing: `OTEL_EXPORTER_OTLP_ENDPOINT=… npm run bench -- api`. */
const tracing = Object.fromEntries(
  Object.entries(process.env).flatMap(([name, value]) => (name.startsWith('OTEL_') && value ? [[name, value]] : [])),
);
const telemetry = tracing['OTEL_EXPORTER_OTLP_ENDPOINT']
  ? [...typescriptArguments, '--import', path.join(projectDirectory, 'telemetry.ts')]
  : [];

/**
 * The stack is removed afterwards.
 * @param options.durable Postgres waits for the disk at each commit, as in production
 * @throws the error of `measure`, or immediately if a part of the stack or one of our programs has ended
 */
export async function onFreshStack(
  parts: readonly PartName[],
  measure: (bench: Bench) => Promise<void>,
  options: { durable?: boolean } = {},
): Promise<void> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'club-learning-bench-'));
  const broken = Promise.withResolvers<never>();
  // The stack does not use the data of a development environment.
  const stack = await startStack({
    directory: path.join(directory, 'stack'),
    ports: 'free',
    ...options,
    parts,
    env: { PATH: process.env['PATH'] },
    onUnexpectedEnd: (message) => broken.reject(new Error(message)),
  });
  const children: Child[] = [];
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: os.homedir(),
    ...allocatorSettings,
    // The configuration needs an address for every part, even if it is not started.
    SMTP_URL: 'smtp://127.0.0.1:9',
    S3_ENDPOINT: 'http://127.0.0.1:9',
    S3_ACCESS_KEY_ID: 'unused',
    S3_SECRET_ACCESS_KEY: 'unused',
    FILES_PORT: '0', // several APIs run
    API_METRICS_PORT: '0',
    ...stack.environment,
  };
  const measured = measure({
    stack,
    env,
    async launch(script, portVariable, extra = {}) {
      const { port } = await freePorts(['port']);
      const child = startChild({
        name: script,
        command: process.execPath,
        args: [...telemetry, ...scriptArguments(script)],
        env: { ...env, ...tracing, ...extra, [portVariable]: String(port) },
        logFile: path.join(directory, `${script.replaceAll('/', '-')}.log`),
      });
      children.push(child);
      const ready = async () => {
        const answer = await fetch(`http://127.0.0.1:${port}/readyz`);
        if (!answer.ok) throw new Error(`/readyz answers ${answer.status}`);
      };
      await until(script, ready, { timeoutMs: 60_000, child });
      child.exited.then(
        (exit) => {
          if (!exit.wasRequested) broken.reject(new Error(describeExit(child, exit)));
        },
        () => undefined,
      );
      return { port, child };
    },
  });
  try {
    await Promise.race([measured, broken.promise]);
  } catch (error) {
    for (const child of children) process.stderr.write(`The last words of ${child.name}:\n${child.lastLines(5)}\n`);
    throw error;
  } finally {
    await Promise.all(children.map((child) => child.stop()));
    await stack.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

/** The settings of the lane of first attempts, from the caller's environment. */
export function laneSettings(): Record<string, string> {
  const names = ['WEBHOOK_FIRST_ATTEMPT', 'WEBHOOK_DIRECT_ATTEMPTS'];
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}

/**
 * Checks every 25 ms, or less often.
 * @param what in words for the message
 * @param options.progressSoFar in words for the message
 * @throws Error if the condition does not become true in time
 */
export async function waitUntil(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  options: { timeoutMs: number; everyMs?: number; progressSoFar?: () => string | Promise<string> },
): Promise<void> {
  const { timeoutMs, everyMs = 25, progressSoFar } = options;
  const deadline = performance.now() + timeoutMs;
  while (!(await isSo())) {
    if (performance.now() > deadline) {
      const soFar = progressSoFar === undefined ? '' : ` (${await progressSoFar()})`;
      throw new Error(`Not within ${timeoutMs / 1_000} s: ${what}${soFar}.`);
    }
    await sleep(everyMs);
  }
}

/** @param share 0.5 for the median @returns the value below which this share of the values is */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

/** The ceiling is measured directly after the product. */
export interface Round {
  ours: number;
  bare: number;
}

/** Prints medians. The ratio is the median of the rounds' ratios, so a slow phase of the machine affects both sides. */
export function reportBeside(figure: string, rounds: readonly Round[]): void {
  const medians = {
    value: median(rounds.map(({ ours }) => ours)),
    ceiling: median(rounds.map(({ bare }) => bare)),
    ratio: median(rounds.map(({ ours, bare }) => ours / bare)),
  };
  report(figure, medians, rounds.length);
}

/**
 * Prints `deliveries/s 85 ceiling 120 ratio 0.71`, and keeps the figures for `--save`.
 * @param rounds the values are their medians
 * @throws Error if a value is not a number: nothing was measured
 */
export function report(figure: string, values: Readonly<Record<string, number>>, rounds?: number): void {
  const words = Object.entries(values).map(([name, value]) => {
    if (!Number.isFinite(value)) throw new Error(`${figure}: ${name} was not measured.`);
    return `${name} ${value < 10 ? value.toFixed(2) : Math.round(value)}`;
  });
  recordLine(figure, values, rounds);
  process.stdout.write(`${figure} ${words.join(' ').replace(/^value /, '')}\n`);
}

/** Standard output contains only the figures. */
export function progress(line: string): void {
  process.stderr.write(`  ${line}\n`);
}
