/**
 * Starts tracing, if the variable OTEL_EXPORTER_OTLP_ENDPOINT is set (ADR 42). main.ts loads this file before the commands that serve
 * requests. If a process starts without main.ts, load this file by `node --import ./dist/telemetry.js …`. If the variable is not set, this
 * file does nothing and loads no module.
 */
import { isMainThread } from 'node:worker_threads';

// Threads inherit `--import`, but do not start tracing, because their work belongs to the spans of their callers.
if (isMainThread && process.env['OTEL_EXPORTER_OTLP_ENDPOINT']) {
  const { startTelemetry } = await import('./platform/infra/telemetry/start.ts');
  const [, , command = ''] = process.argv;
  try {
    startTelemetry(process.env, ['club-learning', ...(/^[a-z]+$/.test(command) ? [command] : [])].join('-'));
  } catch (error) {
    process.stderr.write(`The process cannot start: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  }
}
