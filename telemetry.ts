/**
 * Tracing, which OTEL_EXPORTER_OTLP_ENDPOINT enables (ADR 42). main.ts loads this file before the commands that serve. Another entry point
 * loads it itself: `node --import ./dist/telemetry.js …`. Without the variable it does nothing and loads nothing.
 */
import { isMainThread } from 'node:worker_threads';

// Threads inherit --import. Their work belongs to the spans of their callers.
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
