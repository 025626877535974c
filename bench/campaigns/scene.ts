/** A worker, a mail server that accepts everything, and a club without a rate limit. */
import type { DataSource } from 'typeorm';
import { readConfig } from '../../config.ts';
import { freePorts, host } from '../../dev/stack/ports.ts';
import { createCampaign } from '../../domain/campaigns/drafts/drafts.ts';
import { readCampaign } from '../../domain/campaigns/records.ts';
import { scheduleCampaign } from '../../domain/campaigns/states.ts';
import { setSender } from '../../domain/mail/sending/sender.ts';
import { createDataSource } from '../../entities/data-source.ts';
import { migrate } from '../../commands/migrate.ts';
import type { Id } from '../../platform/core/ids.ts';
import { Database } from '../../platform/infra/postgres/database.ts';
import { createNotifier } from '../../platform/infra/postgres/notifications.ts';
import { createVault, type Vault } from '../../platform/infra/keys/vault.ts';
import { addClub } from '../agents/scene.ts';
import { onMailbox } from '../codes.ts';
import { onFreshStack, waitUntil } from '../support.ts';
import type { SinkState } from './sink.ts';

export { campaignConnections as connections } from '../../platform/infra/smtp/smtp-hand-over.ts';

export interface Scene {
  db: Database;
  vault: Vault;
  env: Readonly<Record<string, string>>;
  worker: number;
  smtpUrl: string;
  state: () => Promise<SinkState>;
  forget: () => Promise<unknown>;
  clubId: Id;
  /** Maps each code to its time in `performance.now()`. */
  codes: ReadonlyMap<string, number>;
}

export async function onCampaignScene(measure: (scene: Scene) => Promise<void>): Promise<void> {
  await onMailbox(({ smtpUrl: codesUrl, arrivals: codes }) =>
    onFreshStack(['temporal', 'postgres'], async ({ env, launch }) => {
      const config = readConfig(env);
      const source = await createDataSource(config.database, 'club-bench').initialize();
      await migrate(source);
      const { smtp } = await freePorts(['smtp']);
      const smtpUrl = `smtp://${host}:${smtp}`;
      const sink = await launch('bench/campaigns/sink.ts', 'SINK_PORT', { SINK_SMTP_PORT: String(smtp) });
      const address = `http://${host}:${sink.port}/state`;
      const worker = await launch('worker/main.ts', 'WORKER_PORT', { SMTP_URL: codesUrl, BULK_SMTP_URL: smtpUrl });
      const db = new Database(
        source,
        createNotifier(source, () => {}),
      );
      await measure({
        db,
        vault: createVault(config.masterKey),
        env,
        worker: worker.child.pid ?? 0,
        smtpUrl,
        state: async () => (await (await fetch(address)).json()) as SinkState,
        forget: () => fetch(address, { method: 'DELETE' }),
        clubId: await clubWithoutRate(db),
        codes,
      });
      await source.destroy();
    }),
  );
}

/** The limit is higher than any measured rate. */
export async function clubWithoutRate(db: Database): Promise<Id> {
  const [owner] = await addClub(db.source, 1);
  const clubId = owner?.clubId ?? '';
  await db.source.query(`DELETE FROM students WHERE club_id = $1`, [clubId]);
  await setSender({ db }, clubId, { from_name: 'Harbour', postal_address: 'Quay 1' }, new Date());
  await db.source.query(
    `UPDATE mail_senders SET mails_per_minute = 100000000, allowance = 10000000 WHERE club_id = $1`,
    [clubId],
  );
  return clubId;
}

/** The club then has exactly `count` confirmed students. */
export async function haveStudents(source: DataSource, clubId: Id, count: number): Promise<void> {
  await source.query(`DELETE FROM campaigns WHERE club_id = $1`, [clubId]);
  await source.query(`DELETE FROM students WHERE club_id = $1`, [clubId]);
  const atOnce = 20_000;
  for (let remaining = count; remaining > 0; remaining -= atOnce)
    await source.query(
      // Without `email_key`, the worker would add the keys during the measurement.
      `INSERT INTO students (id, club_id, name, email, email_key, verified_at, created_at)
       SELECT id, $1, 'Maria Silva', id || '@example.com', sha256(id::text::bytea), now(), now() FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, $2::int)) AS one`,
      [clubId, Math.min(remaining, atOnce)],
    );
  await source.query('VACUUM ANALYZE students, mails, list_tallies, list_tally_changes');
}

const content = {
  subject: 'The spring regatta, {{student_first_name|there}}',
  preheader: 'Boats, knots and a race',
  blocks: [
    { kind: 'heading' as const, text: 'Ahoy {{student_first_name|there}}' },
    ...Array.from({ length: 4 }, (_, at) => ({
      kind: 'text' as const,
      text: `The **spring** regatta begins. ${'Some words about boats, knots and the wind. '.repeat(6)}[Look](https://example.com/regatta/${at}).`,
    })),
    { kind: 'button' as const, text: 'Join', url: 'https://example.com/join' },
  ],
};

/** @returns a campaign to all students of the club */
export async function draft({ db, clubId }: Pick<Scene, 'db' | 'clubId'>): Promise<Id> {
  return (await createCampaign({ db }, clubId, { name: 'Regatta', content }, new Date())).id;
}

export async function begin({ db, clubId }: Scene, campaignId: Id): Promise<void> {
  await scheduleCampaign({ db }, clubId, campaignId, undefined, new Date());
}

export async function untilEnded({ db, clubId }: Scene, campaignId: Id, timeoutMs: number): Promise<void> {
  const isEnded = async () => (await readCampaign(db, clubId, campaignId)).status === 'sent';
  await waitUntil('the campaign ends', isEnded, { timeoutMs, everyMs: 100 });
}

/** @returns accepted mails a second, from the first mail to the last */
export const rateOf = ({ mailCount, firstAt, lastAt }: SinkState): number =>
  ((mailCount - 1) / (lastAt - firstAt)) * 1_000;
