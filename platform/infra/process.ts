/** Code of every process: JSON log lines, a graceful stop, and a clear message if the process cannot start. */
import { constants } from 'node:os';
import { pino, type Logger } from 'pino';
import type { DataSource } from 'typeorm';
import { createDataSource, type DatabaseSettings } from '../../entities/data-source.ts';
import { StartProblem, StartProblems } from '../core/start-problem.ts';
import { build } from './build.ts';
import { describeError } from './describe-error.ts';
import { checkContractions } from './postgres/checks/contractions.ts';
import { SharedPool } from './postgres/shared-pool.ts';
import { schemaBehind, unusable } from './postgres/checks/start-checks.ts';
import { reportLostSpans, stopTracing } from './tracing.ts';

/** @param name in every line of the log */
export function createProcessLogger(name: string, level: string): Logger {
  const log = createLogger(name, level);
  reportLostSpans((losses) => log.warn(losses, 'spans are lost: their receiver does not take them'));
  return log;
}

/** @param name on every line */
export function createLogger(name: string, level: string): Logger {
  return pino(
    {
      name,
      level,
      redact: ['authorization', 'password', 'token', 'email', '*.authorization', '*.password', '*.token', '*.email'],
    },
    // A write for each line would cost the API 6 % of its time. Only a SIGKILL loses lines, of the last second.
    pino.destination({ sync: false, minLength: 4_096, periodicFlush: 1_000 }),
  );
}

/**
 * Connects to Postgres.
 * @param name in Postgres's list of connections
 * @param options.reserved only for records (ENG-18)
 * @throws StartProblem if Postgres is unreachable, or its schema lacks something that the code reads
 */
export async function openDatabase(
  database: DatabaseSettings,
  name: string,
  options: { reserved?: number } = {},
): Promise<DataSource> {
  const source = createDataSource(database, name, { ...options, Pool: SharedPool });
  try {
    await source.initialize();
  } catch (error) {
    throw new StartProblem(unusable(error));
  }
  if (await source.showMigrations()) {
    await source.destroy();
    throw new StartProblem(schemaBehind());
  }
  try {
    await checkContractions(source, build);
  } catch (error) {
    await source.destroy();
    throw error;
  }
  return source;
}

/**
 * Reports all mistakes together.
 * @throws StartProblems; the error of a check only if there are no mistakes, because they may be its cause
 */
export async function throwMistakes(checks: readonly Promise<readonly string[]>[]): Promise<void> {
  const settled = await Promise.allSettled(checks);
  const mistakes = settled.flatMap((check) => (check.status === 'fulfilled' ? check.value : []));
  if (mistakes.length > 0) throw new StartProblems(mistakes);
  for (const check of settled) if (check.status === 'rejected') throw check.reason;
}

/** SIGTERM or SIGINT stops the process with exit code 0. A signal during the start, or a second signal, ends it immediately. */
export async function runProcess(start: () => Promise<{ stop: () => Promise<void> }>): Promise<void> {
  let running: { stop: () => Promise<void> } | undefined;
  let stopping = false;
  onEndSignals((signal) => {
    if (!running) endBy(signal);
    if (stopping) process.exit(1);
    stopping = true;
    stopTraced(running).then(
      () => process.exit(0),
      (error: unknown) => fail('Stopping failed', error),
    );
  });
  try {
    running = await start();
  } catch (error) {
    fail('The process cannot start', error);
  }
}

/** Also sends the last spans. */
async function stopTraced(running: { stop: () => Promise<void> }): Promise<void> {
  try {
    await running.stop();
  } finally {
    await stopTracing();
  }
}

/**
 * SIGTERM and SIGINT end the command immediately; uncommitted work is undone.
 * @param failed the beginning of the message if the command throws; the exit code is then 1
 */
export async function runOnce(failed: string, command: () => Promise<number>): Promise<void> {
  onEndSignals(endBy);
  try {
    process.exitCode = await command();
  } catch (error) {
    process.stderr.write(`${failed}: ${error instanceof StartProblem ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}

/** Without a listener, the first process of a container ignores these signals. */
function onEndSignals(listener: (signal: NodeJS.Signals) => void): void {
  process.on('SIGTERM', listener);
  process.on('SIGINT', listener);
}

/** The exit code that shells report for this signal. */
function endBy(signal: NodeJS.Signals): never {
  process.exit(128 + constants.signals[signal]);
}

function fail(what: string, error: unknown): never {
  const { code } = error as { code?: unknown };
  const reason =
    error instanceof StartProblem
      ? error.message
      : code === 'EADDRINUSE'
        ? 'its port is in use: end what holds it, or set API_PORT, API_METRICS_PORT, FILES_PORT or WORKER_PORT'
        : JSON.stringify(describeError(error));
  process.stderr.write(`${what}: ${reason}\n`);
  process.exit(1);
}
