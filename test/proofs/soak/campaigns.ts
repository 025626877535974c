/** Makes a club send a campaign from time to time, and compares its rows with the received mails. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import type { Id } from '../../../platform/core/ids.ts';
import { caller, type OwnerCall } from '../faults/mail/caller.ts';
import { countedBy, checkMails, mailColumns, moreThanOnce, receivedIn, type MailRow } from '../faults/mail/received.ts';
import { buildRecipients } from '../faults/mail/recipients.ts';
import type { Ground } from '../faults/victims.ts';
import type { FactTally } from './tally.ts';

const recipients = 60;
const mailsPerMinute = 600;

interface CampaignLoad {
  readonly mails: number;
  sendOne(): Promise<void>;
  openCount(): Promise<number>;
  tally(log: string): Promise<FactTally>;
}

export async function openCampaigns(source: DataSource, ground: Ground): Promise<CampaignLoad> {
  const club = await buildRecipients(source, recipients);
  const call = caller(ground, club);
  await call('PUT', '/mail/sender', {
    from_name: 'Harbour',
    postal_address: 'Quay 1',
    mails_per_minute: mailsPerMinute,
  });
  const ids: Id[] = [];
  return {
    get mails() {
      return ids.length * recipients;
    },
    async sendOne() {
      ids.push(await newCampaign(call, ids.length + 1));
      await call('POST', `/campaigns/${ids.at(-1)}/schedule`, {});
      await sleep(0);
    },
    async openCount() {
      const [row] = await source.query<{ count: number }[]>(
        `SELECT count(*)::int AS count FROM campaigns WHERE id = ANY ($1) AND status <> 'sent'`,
        [ids],
      );
      return row?.count ?? 0;
    },
    async tally(log) {
      const rows = await source.query<MailRow[]>(`SELECT ${mailColumns} FROM mails WHERE campaign_id = ANY ($1)`, [
        ids,
      ]);
      const own = new Set(rows.map(({ id }) => id));
      const received = receivedIn(log).filter(({ mailId }) => own.has(mailId));
      const { untrue, mailedTwice } = checkMails(rows, received);
      const missing = ids.length * recipients - rows.length;
      return {
        facts: ids.length * recipients,
        lostFacts: [
          ...untrue.map((line) => `mail ${line}`),
          ...(missing === 0 ? [] : [`${missing} recipients of campaigns have no row`]),
        ],
        twice: Array.from(
          { length: Math.max(mailedTwice, moreThanOnce(countedBy(received, ({ mailId }) => mailId))) },
          () => 'a mail of a campaign',
        ),
      };
    },
  };
}

async function newCampaign(call: OwnerCall, number: number): Promise<Id> {
  const blocks = [{ kind: 'text', text: 'Ahoy {{student_first_name|there}}: the **regatta** begins.' }];
  const { status, data } = await call('POST', '/campaigns', {
    name: `Regatta ${number}`,
    content: { subject: `Regatta ${number}`, blocks },
  });
  if (status !== 201) throw new Error(`Creating a campaign returned ${status}`);
  return data.id;
}
