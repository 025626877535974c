/**
 * The command `doctor`. It opens every connection in the same way as the service, and also tries ffmpeg, OCR and the subtitles command. For
 * each problem, it reports what to do. It leaves no data behind, except closed runs in Temporal. The namespace removes these runs after its
 * retention time.
 */
import { readConfig, type Config } from '../config.ts';
import { StartProblem } from '../platform/core/start-problem.ts';
import { bucketMistakes } from '../platform/infra/store/bucket-checks.ts';
import { describeError } from '../platform/infra/describe-error.ts';
import { keyMistakes } from '../platform/infra/keys/open-vault.ts';
import { databaseMistakes } from '../platform/infra/postgres/checks/start-checks.ts';
import type { TaskQueue } from '../platform/engine/workflow-types.ts';
import { runOnce } from '../platform/infra/process.ts';
import { publicFilesMistakes } from '../platform/infra/store/public-files-check.ts';
import { smtpMistakes } from '../platform/infra/smtp/smtp.ts';
import { ffmpegAt, usualFfmpeg } from '../platform/infra/video/ffmpeg.ts';
import { allOcrLanguages } from '../domain/knowledge/indexing/ocr.policy.ts';
import { problemOfCommand } from '../domain/media/transcriptions/trial.ts';
import { ocrProgramAt } from '../platform/infra/programs/ocr-program.ts';
import { lookForFairness } from '../worker/temporal/fairness.ts';
import { engineMistakes } from '../worker/temporal/start-checks.ts';
import { connectCommand, connectWorkers } from '../worker/temporal/connection.ts';
import { noteErasedRecords } from './erased-records.ts';
import { compareZones, mistakesIn, remarksOn } from '../platform/infra/postgres/checks/time-zones.ts';

interface Check {
  /** The subject of the check, which is printed at the beginning of its line. */
  readonly title: string;
  /**
   * @param note receives a warning, for a problem that does not stop the service
   * @returns a sentence for each mistake; each sentence says what to do
   */
  readonly look: (note: (sentence: string) => void) => Promise<readonly string[]>;
}

/** Returns all checks, in the order in which their lines are printed. */
function checksOf(config: Config): readonly Check[] {
  const { database, temporal, storage, api, mail } = config;
  const { taskQueues } = config.worker;
  const serves = (queue: TaskQueue) => taskQueues.length === 0 || taskQueues.includes(queue);
  const makesSubtitles = config.subtitlesCommand !== undefined && serves('subtitles');
  return [
    {
      title: 'Postgres: clock, schema, time limits, prepared statements, LISTEN',
      look: () => databaseMistakes(database),
    },
    { title: 'Time zones: those of Node, and of Postgres', look: (note) => compareZonesOf(database, note) },
    { title: 'Keys: MASTER_KEY, MASTER_KEYS_OLD', look: () => keyMistakes(config) },
    {
      title: 'Temporal: connections, version, namespace, search attributes',
      look: async () => {
        const mistakes = await engineMistakes(temporal);
        return mistakes.length === 0 ? workerMistakes(temporal) : mistakes;
      },
    },
    { title: 'Temporal: fairness between clubs', look: () => fairnessMistakes(temporal) },
    {
      title: 'S3: uploads from the pages of CORS_ORIGINS',
      look: () => bucketMistakes(storage, api.corsOrigins),
    },
    { title: 'S3: everyone can read public files at PUBLIC_FILES_URL', look: () => publicFilesMistakes(storage) },
    {
      title: 'Erasures: Postgres has nothing again that was erased in the last 30 days',
      async look(note) {
        await noteErasedRecords(config, note);
        return [];
      },
    },
    { title: 'SMTP: SMTP_URL', look: () => smtpMistakes(mail.smtpUrl, 'SMTP_URL') },
    ...(mail.bulkSmtpUrl.reveal() === mail.smtpUrl.reveal()
      ? []
      : [{ title: 'SMTP: BULK_SMTP_URL', look: () => smtpMistakes(mail.bulkSmtpUrl, 'BULK_SMTP_URL') }]),
    ...(serves('media') || makesSubtitles
      ? [{ title: 'ffmpeg: it creates renditions of videos', look: ffmpegLook(config.video.ffmpeg) }]
      : []),
    ...(config.ocr.command !== undefined && serves('indexing')
      ? [{ title: 'OCR: the command reads a test page', look: ocrLook(config.ocr, config.video.workDirectory) }]
      : []),
    ...(makesSubtitles
      ? [{ title: 'Subtitles: the command transcribes a test sound', look: subtitlesLook(config) }]
      : []),
  ];
}

async function compareZonesOf(
  database: Config['database'],
  note: (sentence: string) => void,
): Promise<readonly string[]> {
  const report = await compareZones(database, new Date());
  remarksOn(report).forEach(note);
  return mistakesIn(report);
}

/**
 * A missing ffmpeg is a mistake only if the operator has configured its path. Without a configured path, the operator perhaps wants no
 * renditions. An ffmpeg that exists but cannot create renditions is always a mistake (DEC-162).
 */
const ffmpegLook =
  (executable: string): Check['look'] =>
  async (note) => {
    const ffmpeg = ffmpegAt(executable);
    await ffmpeg.look();
    const { file, mistakes = [], notes = [] } = ffmpeg.finding ?? {};
    notes.forEach(note);
    if (file !== undefined || executable !== usualFfmpeg) return mistakes;
    mistakes.forEach(note);
    return [];
  };

/** A missing language is only a warning, because perhaps no club uses it. If every language is missing, that is a mistake. */
const ocrLook =
  ({ command = [], languages }: Config['ocr'], workDirectory: string): Check['look'] =>
  async (note) => {
    const program = ocrProgramAt(command, workDirectory);
    const flaws: string[] = [];
    const tried = allOcrLanguages(languages);
    for (const one of tried) {
      const flaw = await program.flawFor(one);
      if (flaw !== undefined) flaws.push(flaw);
    }
    if (flaws.length === tried.length) return flaws.slice(0, 1);
    flaws.forEach(note);
    return [];
  };

const subtitlesLook =
  ({ subtitlesCommand = [], video: { workDirectory } }: Config): Check['look'] =>
  async () => {
    const flaw = await problemOfCommand(subtitlesCommand, workDirectory);
    return flaw === undefined ? [] : [flaw];
  };

/**
 * Checks the connection of workers, which differs from the connection of commands. Workers connect with a client in Rust, which trusts the
 * certificate authorities of the system.
 */
async function workerMistakes(temporal: Config['temporal']): Promise<string[]> {
  try {
    await (await connectWorkers(temporal)).close();
    return [];
  } catch (error) {
    if (error instanceof StartProblem) return [error.message];
    throw error;
  }
}

async function fairnessMistakes(temporal: Config['temporal']): Promise<string[]> {
  const connection = await connectCommand(temporal);
  try {
    switch (await lookForFairness(connection, temporal.namespace)) {
      case 'fair':
        return [];
      case 'unfair':
        return [
          "Temporal runs one club's whole backlog before the next club's tasks: set matching.enableFairness to true in the dynamic configuration of a cluster; in Temporal Cloud, enable Fairness in the settings of the namespace.",
        ];
      case 'unknown':
        return [
          'Temporal did not dispatch the tasks of a test queue within a minute: check its load, and run this again.',
        ];
    }
  } finally {
    await connection.close();
  }
}

/** @returns true if no check found a mistake; warnings do not count */
export async function examine(config: Config, say: (line: string) => void): Promise<boolean> {
  const looks = checksOf(config).map(async ({ title, look }) => {
    const notes: string[] = [];
    const mistakes = await look((sentence) => notes.push(sentence)).catch((error: unknown) => {
      const { code, name } = describeError(error);
      const reason = error instanceof StartProblem ? '' : ` (${code ?? name})`;
      return [`This check did not run${reason}: correct the other mistakes first.`];
    });
    return { title, mistakes, notes };
  });
  let isRight = true;
  for (const look of looks) {
    const { title, mistakes, notes } = await look;
    say(`${mistakes.length > 0 ? 'WRONG' : notes.length > 0 ? 'warn ' : 'ok   '}  ${title}`);
    for (const sentence of [...mistakes, ...notes]) say(`         ${sentence.replaceAll('\n', '\n         ')}`);
    isRight &&= mistakes.length === 0;
  }
  return isRight;
}

/** Runs the command `doctor`. The exit code is 1 if a check finds a mistake. */
export async function main(): Promise<void> {
  await runOnce('The doctor cannot begin', async () => {
    const isRight = await examine(readConfig(), (line) => process.stdout.write(`${line}\n`));
    return isRight ? 0 : 1;
  });
}
