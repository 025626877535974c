/** Makes the dependencies of campaign steps in tests. */
import { readConfig } from '../../../config.ts';
import { updateCampaign } from '../../../domain/campaigns/drafts/drafts.ts';
import type { SendingDeps } from '../../../domain/campaigns/sending.ts';
import { scheduleCampaign } from '../../../domain/campaigns/states.ts';
import { stepCampaign } from '../../../domain/campaigns/step.ts';
import { setSender } from '../../../domain/mail/sending/sender.ts';
import type { Tracking } from '../../../entities/mail/values.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { TestMailDeps } from '../../../domain/campaigns/drafts/test-mails.ts';
import { createObjectStore } from '../../../platform/infra/store/object-store.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { HandedMessage, HandOver } from '../../../platform/infra/smtp/smtp-hand-over.ts';
import { buildCampaign } from '../builders/campaigns.ts';
import { buildStudent, type TestClub } from '../builders/clubs.ts';
import { testDeps } from '../stack/database.ts';
import { testObjectStore } from '../stack/storage.ts';

/** @returns the dependencies with real stores and the platform's own sender */
export async function sendingDeps(smtp: SendingDeps['smtp']): Promise<TestMailDeps> {
  const { storage } = readConfig();
  return {
    ...(await testDeps()),
    smtp,
    images: {
      storage: await testObjectStore(),
      publicStorage: createObjectStore({ ...storage, privateBucket: storage.publicBucket }),
      publicFilesUrl: storage.publicFilesUrl,
    },
    fromAddress: 'news@platform.example',
    marks: { providers: [], returnAddress: undefined },
    warmUps: { clubs: [], domains: [] },
    publicUrl: 'https://api.example',
    onOutcome: () => undefined,
    failpoint: async () => undefined,
  };
}

export interface SentMail {
  studentId: Id;
  email: string;
  mailId: Id;
  message: HandedMessage;
}

/**
 * Sends a campaign with an open-tracking picture and two links to the students of a new club.
 * @returns the sent messages, in the order of the campaign's list of recipients
 */
export async function sendCampaign(
  { count, now, tracking = 'all' }: { count: number; now: Date; tracking?: Tracking },
  reply: (place: number) => HandOver = () => ({ kind: 'accepted', reply: '250 ok' }),
): Promise<{ club: TestClub; campaignId: Id; mails: SentMail[] }> {
  const deps = await testDeps();
  const { club, campaignId } = await buildCampaign(now);
  await setSender(
    deps,
    club.id,
    { from_name: 'Knots & Co', postal_address: 'Quay 1', tracking, mails_per_minute: 6_000 },
    now,
  );
  const content = {
    subject: 'Hi',
    blocks: [
      { kind: 'button' as const, text: 'One', url: 'https://example.com/one' },
      {
        kind: 'text' as const,
        text: '[Two](https://example.com/two?a=b&c=d) and [mine](https://example.com/?who={{student_name}})',
      },
    ],
  };
  await updateCampaign(deps, club.id, campaignId, { content }, now);
  for (let place = 0; place < count; place++)
    await buildStudent(club.id, { createdAt: new Date(now.getTime() - (count - place) * 1_000) });
  const handedMessages: HandedMessage[] = [];
  const sending = await sendingDeps({
    connections: 1,
    onConnection: (work) => work(),
    handOver: async (message) => reply(handedMessages.push(message) - 1),
  });
  await scheduleCampaign(deps, club.id, campaignId, undefined, now);
  for (let steps = 0; steps < 50; steps++) {
    const next = await stepCampaign(sending, campaignId, now.getTime());
    if (next.done || next.at !== undefined) break;
  }
  const rows = await deps.db.rows<Pick<SentMail, 'studentId' | 'email' | 'mailId'>>(
    sql`SELECT student_id AS "studentId", student_email AS email, id AS "mailId" FROM mails WHERE campaign_id = ${campaignId} ORDER BY seq`,
  );
  const mails = rows.flatMap((row) => {
    const message = handedMessages.find(({ to }) => to === row.email);
    return message ? [{ ...row, message }] : [];
  });
  return { club, campaignId, mails };
}
