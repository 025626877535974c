/**
 * The command `doctor`: tries every connection as the service uses it, and says what to do where one will not serve. It leaves nothing
 * behind but closed runs of Temporal, which the namespace forgets.
 */
import { readConfig, type Config } from '../config.ts';
import { StartProblem } from '../platform/core/start-problem.ts';
import { bucketMistakes } from '../platform/infra/bucket-checks.ts';
import { describeError } from '../platform/infra/describe-error.ts';
import { keyMistakes } from '../platform/infra/keys/open-vault.ts';
import { databaseMistakes } from '../platform/infra/postgres/start-checks.ts';
import { runOnce } from '../platform/infra/process.ts';
import { publicFilesMistakes } from '../platform/infra/public-files-check.ts';
import { smtpMistakes } from '../platform/infra/smtp.ts';
import { lookForFairness } from './fairness.ts';
import { engineMistakes } from './start-checks.ts';
import { connectCommand, connectWorkers } from './temporal.ts';
import { compareZones, mistakesIn, remarksOn, type ZoneReport } from '../platform/infra/postgres/time-zones.ts';

interface Check {
  /** What is looked at. */
  readonly title: string;
  /** @returns a sentence for each mistake, which says what to do */
  readonly look: () => Promise<readonly string[]>;
  /** @returns a sentence for each thing to know that keeps nothing from serving; asked for if there is no mistake */
  readonly remark?: () => Promise<readonly string[]>;
}

/** All that is looked at, in the order in which it is told. */
function checksOf(config: Config): readonly Check[] {
  const { database, temporal, storage, api, mail } = config;
  return [
    {
      title: 'Postgres: clock, schema, time limits, prepared statements, LISTEN',
      look: () => databaseMistakes(database),
    },
    zonesCheck(database),
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
      title: 'S3: files are sent once, from the pages of CORS_ORIGINS',
      look: () => bucketMistakes(storage, api.corsOrigins),
    },
    { title: 'S3: everybody reads public files, at PUBLIC_FILES_URL', look: () => publicFilesMistakes(storage) },
    { title: 'SMTP: SMTP_URL', look: () => smtpMistakes(mail.smtpUrl, 'SMTP_URL') },
    ...(mail.bulkSmtpUrl.reveal() === mail.smtpUrl.reveal()
      ? []
      : [{ title: 'SMTP: BULK_SMTP_URL', look: () => smtpMistakes(mail.bulkSmtpUrl, 'BULK_SMTP_URL') }]),
  ];
}

/** Both are told of one comparison. */
function zonesCheck(database: Config['database']): Check {
  let compared: Promise<ZoneReport> | undefined;
  const compare = () => (compared ??= compareZones(database, new Date()));
  return {
    title: 'Time zones: those of Node, and of Postgres',
    look: async () => mistakesIn(await compare()),
    remark: async () => remarksOn(await compare()),
  };
}

/** Workers reach Temporal in another way than commands do: by Rust, and the authorities of the system. @returns what only they would meet */
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
          "Temporal serves one club's whole backlog before it comes to the next club: set matching.enableFairness to true in the dynamic configuration of a cluster; in Temporal Cloud, enable Fairness in the settings of the namespace.",
        ];
      case 'unknown':
        return [
          'Temporal did not give out the tasks of a queue of our own in a minute: look at its load, and run this again.',
        ];
    }
  } finally {
    await connection.close();
  }
}

/**
 * @param say gets a line for each check, in their order
 * @returns whether nothing is wrong; a warning is nothing wrong
 */
export async function examine(config: Config, say: (line: string) => void): Promise<boolean> {
  const looks = checksOf(config).map(async ({ title, look, remark }) => {
    const mistakes = await look().catch((error: unknown) => {
      const { code, name } = describeError(error);
      const reason = error instanceof StartProblem ? '' : ` (${code ?? name})`;
      return [`It could not be looked at${reason}: see to the other mistakes first.`];
    });
    const remarks = mistakes.length === 0 && remark ? await remark() : [];
    return { title, mistakes, remarks };
  });
  let isRight = true;
  for (const look of looks) {
    const { title, mistakes, remarks } = await look;
    const word = mistakes.length > 0 ? 'WRONG' : remarks.length > 0 ? 'warn ' : 'ok   ';
    say(`${word}  ${title}`);
    for (const sentence of [...mistakes, ...remarks]) say(`         ${sentence.replaceAll('\n', '\n         ')}`);
    isRight &&= mistakes.length === 0;
  }
  return isRight;
}

/** The command: exit code 1 where something is wrong. */
export async function main(): Promise<void> {
  await runOnce('The doctor cannot begin', async () => {
    const isRight = await examine(readConfig(), (line) => process.stdout.write(`${line}\n`));
    return isRight ? 0 : 1;
  });
}
