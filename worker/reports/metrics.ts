/** The metrics of the worker process. docs/how-to/operate.md names the important ones. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Counter, Gauge, Histogram, register } from 'prom-client';
import { countOfHeldCharges } from '../../domain/billing/overage/held.ts';
import { webhookTables } from '../../domain/webhooks/retention.ts';
import { countingUnplaced } from '../../platform/infra/postgres/partitions.ts';
import { ageOfDueRows, countOfDueRows, maxCounted } from '../../platform/engine/due-rows.ts';
import type { Database } from '../../platform/infra/postgres/database.ts';
import { createGaugeRead, scrapeMs } from '../../platform/infra/postgres/gauge-reads.ts';
import { sql, type Sql } from '../../platform/infra/postgres/sql.ts';
import type { Ffmpeg } from '../../platform/infra/video/ffmpeg.ts';
import { failingSteps } from '../../platform/engine/faults.ts';
import type { SweepWatch } from './sweep-watch.ts';

export const attempts = new Counter({
  name: 'webhook_attempts_total',
  help: 'Attempts of webhook deliveries that have ended, by outcome.',
  labelNames: ['outcome'],
});

export const failureCauses = new Counter({
  name: 'webhook_attempts_without_answer_total',
  help: 'Attempts of webhook deliveries that got no answer, by cause. The causes are the values of `error_code` in the record of an attempt.',
  labelNames: ['cause'],
});

export const firstAttempts = new Counter({
  name: 'webhook_first_attempts_total',
  help: 'First attempts of webhook deliveries, by lane: workflow (a run makes the attempt), direct (this process makes the attempt without a run).',
  labelNames: ['lane'],
});

export const directInFlight = new Gauge({
  name: 'webhook_direct_attempts',
  help: 'First attempts that this process makes now without a run.',
});

export const handedOver = new Counter({
  name: 'webhook_direct_handed_over_total',
  help: 'Interrupted direct attempts that a run repeated. The value is normally 0. Each such attempt may have sent a message twice.',
});

export const recordBatches = new Histogram({
  name: 'webhook_records_together',
  help: 'Number of accepted attempts that one statement recorded.',
  buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256],
});

export const factBatches = new Histogram({
  name: 'webhook_facts_together',
  help: 'Number of facts that were fanned out together.',
  buckets: [1, 2, 4, 8, 16, 32],
});

export const mails = new Counter({
  name: 'mails_total',
  help: 'Attempts to send a transactional mail, by outcome.',
  labelNames: ['outcome'],
});

export const phoneCodes = new Counter({
  name: 'phone_codes_total',
  help: 'Attempts to send a code to a telephone number, by outcome.',
  labelNames: ['outcome'],
});

export const mailReports = new Counter({
  name: 'mail_reports_total',
  help: 'Messages in the mailbox of delivery reports, by outcome: recorded (then deleted), left (no report, or no mail of ours).',
  labelNames: ['outcome'],
});

export const campaignMails = new Counter({
  name: 'campaign_mails_total',
  help: 'Mails of campaigns that were handed over, by the resulting status: sent, failed, pending (tried again later).',
  labelNames: ['status'],
});

export const digestMails = new Counter({
  name: 'digest_mails_total',
  help: 'Daily mails of spaces that were handed over, by the resulting status: sent, failed, pending (tried again later).',
  labelNames: ['status'],
});

export const automationMails = new Counter({
  name: 'automation_mails_total',
  help: 'Mails of automations that were handed over, by the resulting status: sent, failed, pending (tried again later).',
  labelNames: ['status'],
});

export const automationSteps = new Counter({
  name: 'automation_steps_total',
  help: 'Steps of automations that runs have completed, by kind.',
  labelNames: ['kind'],
});

export const automationRunsEnded = new Counter({
  name: 'automation_runs_ended_total',
  help: 'Runs of automations that ended by themselves, by status: completed, exited, failed. An administrator can resume a failed run.',
  labelNames: ['status'],
});

export const notices = new Counter({
  name: 'sales_notices_total',
  help: 'Notices of sales platforms that were processed, by outcome.',
  labelNames: ['outcome'],
});

export const answers = new Counter({
  name: 'agent_answers_total',
  help: 'Answers of agents that have ended, by status and error code.',
  labelNames: ['status', 'code'],
});

export const answerTokens = new Counter({
  name: 'agent_tokens_total',
  help: 'Tokens that the model counted, by model and kind. If the model reported no count, our estimate is added.',
  labelNames: ['model', 'kind'],
});

export const answerCosts = new Counter({
  name: 'agent_cost_micros_total',
  help: 'Cost of answers in millionths of a US dollar, by model and payer. The operator pays for requests without a recorded outcome.',
  labelNames: ['model', 'payer'],
});

export const firstWords = new Histogram({
  name: 'agent_first_words_seconds',
  help: 'Time from the acceptance of a question to the first words of its answer in the log.',
  buckets: [0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120],
});

export const sources = new Counter({
  name: 'agent_sources_total',
  help: 'Lessons and files whose indexing has ended, by outcome.',
  labelNames: ['outcome'],
});

export const ocrRuns = new Counter({
  name: 'agent_sources_ocr_total',
  help: 'Files whose scanned pages were given to OCR, by outcome: read (at least one page), failed, unavailable (no working program, or no disk space).',
  labelNames: ['outcome'],
});

export const mediaFiles = new Counter({
  name: 'media_files_total',
  help: 'Files whose processing has ended, by outcome: ready, failed, removed.',
  labelNames: ['outcome'],
});

export const transcriptions = new Counter({
  name: 'media_transcriptions_total',
  help: 'Requests for subtitles, by outcome: gone (the subtitles exist or are no longer wanted), failed, unavailable (the program or disk space is missing, and another try follows).',
  labelNames: ['outcome'],
});

export const studentExports = new Counter({
  name: 'student_exports_total',
  help: 'Exports of students that have ended, by outcome: ready, failed, gone (the student was removed meanwhile).',
  labelNames: ['outcome'],
});

export const mediaMoves = new Counter({
  name: 'media_moves_total',
  help: 'Files whose move between buckets has ended, by their state: public, private, gone.',
  labelNames: ['outcome'],
});

export const rescued = new Counter({
  name: 'sweeper_rescued_total',
  help: 'Workflows that the sweeper started or signaled because their row was overdue. Constant in normal operation.',
});

export const stepFaults = new Counter({
  name: 'workflow_step_faults_total',
  help: 'Steps of workflows that failed because of an internal fault, by workflow type. Each step is tried again after a growing pause.',
  labelNames: ['workflow'],
});

export const relayed = new Counter({
  name: 'relay_sent_total',
  help: 'Facts that the relay fanned out, and wakes that it sent.',
  labelNames: ['kind'],
});

export const relayErrors = new Counter({
  name: 'relay_errors_total',
  help: 'Facts and wakes that the relay could not process at the first try. It tries again.',
  labelNames: ['kind'],
});

interface Backlog {
  label?: string;
  value: number;
}

interface BacklogGauge {
  name: string;
  help: string;
  labelNames?: ['workflow'] | ['kind'] | ['reason'];
  /** A statement that returns the column `value`, and also `label` if the gauge has a label. */
  select: Sql | (() => Sql);
}

/** Registers gauges whose values are read from Postgres at each scrape. @returns a function that removes the gauges */
export function registerBacklogGauges(db: Database, sweeps: Pick<SweepWatch, 'ageSeconds'>): () => void {
  const gauges: BacklogGauge[] = [
    {
      name: 'facts_waiting',
      help: 'Facts that are not fanned out yet.',
      select: sql`SELECT count(*)::int AS value FROM facts`,
    },
    {
      name: 'facts_lag_seconds',
      help: 'Age of the oldest fact that is not fanned out yet.',
      select: sql`SELECT coalesce(extract(epoch FROM clock_timestamp() - min(recorded_at)), 0)::float AS value FROM facts`,
    },
    {
      name: 'wakes_waiting',
      help: 'Wakes that are not sent yet.',
      select: sql`SELECT count(*)::int AS value FROM wakes`,
    },
    {
      name: 'relay_failing',
      help: 'Facts and wakes that have failed and are tried again after a growing pause, by kind.',
      labelNames: ['kind'],
      select: sql`SELECT 'fact' AS label, (SELECT count(*) FROM facts WHERE attempt_count > 0)::int AS value
             UNION ALL SELECT 'wake', (SELECT count(*) FROM wakes WHERE attempt_count > 0)::int`,
    },
    {
      name: 'relay_failing_age_seconds',
      help: 'Age of the oldest fact and the oldest wake that have failed, by kind.',
      labelNames: ['kind'],
      select: sql`SELECT kind AS label, coalesce(extract(epoch FROM clock_timestamp() - oldest), 0)::float AS value
              FROM (SELECT 'fact', min(recorded_at) FROM facts WHERE attempt_count > 0
                    UNION ALL SELECT 'wake', min(recorded_at) FROM wakes WHERE attempt_count > 0) failing (kind, oldest)`,
    },
    {
      name: 'webhook_endpoints_throttled',
      help: 'Enabled endpoints whose circuit breaker is armed.',
      // The condition on `gate_looks_at` lets Postgres use a partial index. It excludes no endpoint with an armed circuit breaker, because
      // each of these endpoints has a gate.
      select: sql`SELECT count(*)::int AS value FROM webhook_endpoints
             WHERE gate_looks_at IS NOT NULL AND status = 'enabled' AND breaker_step > 0`,
    },
    {
      name: 'webhook_deliveries_pending',
      help: 'Deliveries that have not ended: due, waiting for their next attempt, or parked.',
      select: sql`SELECT count(*)::int AS value FROM webhook_deliveries WHERE status = 'pending'`,
    },
    {
      name: 'webhook_deliveries_parked',
      help: 'Deliveries that are due and wait for the gate of a throttled or paused endpoint.',
      // The statement has two subqueries, because each condition has its own index.
      select: sql`SELECT (SELECT count(*) FROM webhook_deliveries WHERE parked_at IS NOT NULL AND requested = 'recovery')::int
                 + (SELECT count(*) FROM webhook_deliveries WHERE parked_at IS NOT NULL AND requested IS DISTINCT FROM 'recovery')::int
                   AS value`,
    },
    {
      name: 'webhook_default_partition_rows',
      help: 'Rows of webhooks that are in the default partition, because their own partition was missing. Retention moves them within minutes. At most 10,000 rows are counted in each table.',
      select: countingUnplaced(Object.values(webhookTables), maxCounted),
    },
    {
      name: 'automation_runs_active',
      help: 'Active runs of automations: between steps, waiting or held.',
      // The value is read from tallies, so that the cost grows with the number of automations and not with the number of runs.
      select: sql`SELECT coalesce(sum(counted.records), 0)::float AS value FROM automations automation CROSS JOIN LATERAL (
               SELECT records FROM list_tallies WHERE club_id = automation.club_id AND list = 'automation_runs_active' AND subject_id = automation.id
               UNION ALL SELECT records FROM list_tally_changes
                WHERE club_id = automation.club_id AND list = 'automation_runs_active' AND subject_id = automation.id) counted`,
    },
    {
      name: 'automation_runs_held',
      help: 'Runs that wait because their automation is paused, or because its gate has not released them yet. At most 10,000 runs are counted.',
      select: sql`SELECT count(*)::int AS value FROM (
               SELECT FROM automations automation JOIN automation_runs run ON run.automation_id = automation.id
                WHERE (automation.status = 'paused' OR automation.gate_looks_at IS NOT NULL) AND run.status = 'active' AND run.looks_at IS NULL
                LIMIT ${maxCounted}) held`,
    },
    {
      name: 'automation_gates_open',
      help: 'Automations whose gate releases runs, page by page, after a pause or an archiving.',
      select: sql`SELECT count(*)::int AS value FROM automations WHERE gate_looks_at IS NOT NULL`,
    },
    {
      name: 'overage_charges_held',
      help: 'Charges for overage that the payment processor has not accepted for an hour or has refused, by reason. The service tries pending charges again.',
      labelNames: ['reason'],
      select: countOfHeldCharges,
    },
    {
      name: 'postgres_oldest_snapshot_seconds',
      help: 'Age of the oldest transaction of this database. Postgres cannot clear rows that were deleted or changed since then.',
      select: sql`SELECT coalesce(extract(epoch FROM clock_timestamp() - min(xact_start)), 0)::float AS value
              FROM pg_stat_activity WHERE datname = current_database() AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL) AND pid <> pg_backend_pid()`,
    },
    {
      name: 'workflow_rows_due_age_seconds',
      help: 'Longest wait among the rows that `workflow_rows_due` counts, by workflow type.',
      labelNames: ['workflow'],
      select: () => ageOfDueRows(db.source),
    },
    {
      name: 'workflow_rows_due',
      help: 'Rows that are due, not leased by a worker, and without a fault in their last step, by workflow type. Counted up to 10,000.',
      labelNames: ['workflow'],
      select: () => countOfDueRows(db.source),
    },
    {
      name: 'workflow_rows_failing',
      help: 'Rows whose last step failed because of an internal fault, by workflow type. Their steps are tried again after a growing pause.',
      labelNames: ['workflow'],
      select: failingSteps(sql`count(*)::int`),
    },
    {
      name: 'workflow_rows_failing_age_seconds',
      help: 'The longest time since the first internal fault of a row whose last step also failed because of an internal fault, by workflow type.',
      labelNames: ['workflow'],
      select: failingSteps(sql`extract(epoch FROM clock_timestamp() - min(failing_since))::float`),
    },
  ];
  const read = createGaugeRead(db.source);
  for (const { name, help, labelNames = [], select } of gauges) {
    const gauge = new Gauge({
      name,
      help,
      labelNames,
      async collect() {
        // While Postgres is unavailable the other metrics are still served, because operators then need them.
        const statement = typeof select === 'function' ? select() : select;
        const rows = await Promise.race([read<Backlog>(statement), sleep(scrapeMs, [])]).catch(() => []);
        const [labelName] = labelNames;
        if (labelName !== undefined) for (const { label = '', value } of rows) gauge.set({ [labelName]: label }, value);
        else gauge.set(rows[0]?.value ?? Number.NaN);
      },
    });
  }
  const roundAge: Gauge = new Gauge({
    name: 'sweeper_round_age_seconds',
    help: 'Seconds since the last complete round of the sweeper, in any worker.',
    collect() {
      roundAge.set(sweeps.ageSeconds() ?? Number.NaN);
    },
  });
  return () => {
    for (const { name } of gauges) register.removeSingleMetric(name);
    register.removeSingleMetric('sweeper_round_age_seconds');
  };
}

export function registerFfmpegGauge(ffmpeg: Pick<Ffmpeg, 'isThere'>): () => void {
  const name = 'media_ffmpeg_there';
  const gauge: Gauge = new Gauge({
    name,
    help: 'For a worker that makes MP4s of videos: 1 if the last check found an ffmpeg that makes them, otherwise 0.',
    collect() {
      gauge.set(ffmpeg.isThere ? 1 : 0);
    },
  });
  return () => register.removeSingleMetric(name);
}
