import { expect } from 'chai';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { once } from 'node:events';
import { makeAuthority } from '../../../../../dev/stack/certificates.ts';
import {
  fetchReports,
  fetchingRules,
  type FetchedReports,
  type FetchingDeps,
} from '../../../../../domain/mail/notices/reports/fetch-reports.ts';
import { ReportMailbox } from '../../../../../entities/mail/report-mailbox.ts';
import { newId, type Id } from '../../../../../platform/core/ids.ts';
import { Secret } from '../../../../../platform/core/secret.ts';
import { MailboxUnreachable, withMailbox } from '../../../../../platform/infra/imap/mailbox.ts';
import { sql } from '../../../../../platform/infra/postgres/sql.ts';
import { deliveryReport } from '../../../../toolkit/builders/mail-reports.ts';
import { sendCampaign } from '../../../../toolkit/drive/campaigns.ts';
import { testDeps } from '../../../../toolkit/stack/database.ts';
import { startImapServer, type ImapServer } from '../../../../toolkit/stack/imap-server.ts';

const sentAt = new Date(Math.floor(Date.now() / 1_000) * 1_000 - 3_600_000);
const bouncedAt = new Date(sentAt.getTime() + 60_000);

describe('the mailbox of reports (BNC-7)', function () {
  this.timeout(120_000);
  let deps: Awaited<ReturnType<typeof testDeps>>;
  let server: ImapServer;
  before(async () => {
    deps = await testDeps();
  });
  beforeEach(async () => {
    server = await startImapServer();
  });
  afterEach(() => server.close());

  const report = (mailId: Id) => deliveryReport({ date: bouncedAt, returned: [`X-Club-Mail-Id: ${mailId}`] });
  const others = (count: number) =>
    Array.from({ length: count }, (_, place) => `Subject: Question ${place}\r\nFrom: a@b.example\r\n\r\nHello`);
  const fetchingDeps = (changes: Partial<FetchingDeps> = {}): FetchingDeps => ({
    db: deps.db,
    mailbox: { url: server.url },
    failpoint: async () => undefined,
    onMessage: () => undefined,
    ...changes,
  });
  const fetchOnce = (changes?: Partial<FetchingDeps>): Promise<FetchedReports> =>
    fetchReports(fetchingDeps(changes), new Date());
  const send = async (count: number) => (await sendCampaign({ count, now: sentAt })).mails.map(({ mailId }) => mailId);
  const bounces = (ids: readonly Id[]) =>
    deps.db.rows<{ at: Date | null }>(sql`SELECT bounced_at AS at FROM mails WHERE id = ANY(${ids}::uuid[])`);
  const isBounced = async (ids: readonly Id[]) =>
    (await bounces(ids)).every(({ at }) => at?.getTime() === bouncedAt.getTime());

  it('is read: reports are recorded and deleted, and other messages stay unread', async () => {
    const ids = await send(2);
    await server.append(...others(1), ...ids.map(report), ...others(1), report(newId()));
    expect(await fetchOnce()).to.deep.equal({ recorded: 2, left: 3, more: false });
    expect(await isBounced(ids)).to.equal(true);
    const rest = await server.messages();
    expect(rest.map(({ subject, isRead }) => [subject.slice(0, 10), isRead])).to.deep.equal([
      ['Question 0', false],
      ['Question 0', false],
      ['Unzustellb', false],
    ]);
    const reads: number[] = [];
    expect(await fetchOnce({ onMessage: () => void reads.push(1) })).to.deep.equal({
      recorded: 0,
      left: 0,
      more: false,
    });
    expect(reads).to.deep.equal([]);
  });

  it('is not read without a configured mailbox', async () => {
    expect(await fetchOnce({ mailbox: undefined })).to.deep.equal({ recorded: 0, left: 0, more: false });
  });

  it('is read in pages, from the oldest message to the newest', async () => {
    const [first = '', last = ''] = await send(2);
    await server.append(report(first), ...others(fetchingRules.messages - 1), report(last));
    expect(await fetchOnce()).to.deep.equal({ recorded: 1, left: 199, more: true });
    expect(await isBounced([last])).to.equal(false);
    expect(await fetchOnce()).to.deep.equal({ recorded: 1, left: 0, more: false });
    expect(await isBounced([first, last])).to.equal(true);
  });

  for (const point of ['report_recorded', 'report_deleted'])
    it(`is read again after a worker died at ${point}, and each report counts once`, async () => {
      const ids = await send(3);
      await server.append(...ids.map(report));
      let calls = 0;
      const dying = async (name: string) => {
        if (name === point && ++calls === 2) throw new Error('killed');
      };
      const fault = await fetchOnce({ failpoint: dying }).catch((error: unknown) => error);
      expect((fault as Error).message).to.equal('killed');
      const outcome = await fetchOnce();
      expect(outcome).to.deep.equal({ recorded: point === 'report_recorded' ? 2 : 1, left: 0, more: false });
      expect(await isBounced(ids)).to.equal(true);
      expect(await server.messages()).to.deep.equal([]);
      const tally = await deps.db.one<{ records: number }>(
        sql`SELECT sum(records)::int AS records FROM list_tally_changes WHERE list = 'mails_bounced'
          AND subject_id IN (SELECT campaign_id FROM mails WHERE id = ANY(${ids}::uuid[]))`,
      );
      expect(tally?.records).to.equal(3);
    });

  it('is read by one worker at a time, and by another one after the end of the lease', async () => {
    const ids = await send(1);
    await server.append(...ids.map(report));
    let second: FetchedReports | undefined;
    const meanwhile = async () => {
      second ??= await fetchOnce();
    };
    expect(await fetchOnce({ failpoint: meanwhile })).to.include({ recorded: 1 });
    expect(second).to.deep.equal({ recorded: 0, left: 0, more: false });
    await server.append(...others(1));
    await deps.db.run(sql`UPDATE report_mailboxes SET lease_until = clock_timestamp() + interval '1 minute'`);
    expect(await fetchOnce()).to.include({ left: 0 });
    await deps.db.run(sql`UPDATE report_mailboxes SET lease_until = clock_timestamp() - interval '1 second'`);
    expect(await fetchOnce()).to.include({ left: 1 });
  });

  it('keeps the progress and the lease of a newer worker if an older one ends late', async () => {
    const ids = await send(1);
    await server.append(...ids.map(report));
    const takeOver = async (name: string) => {
      if (name === 'report_deleted')
        await deps.db.run(
          sql`UPDATE report_mailboxes SET fence = fence + 1, seen_uid = 1000 WHERE lease_until > clock_timestamp()`,
        );
    };
    await fetchOnce({ failpoint: takeOver });
    const newer = await deps.db.manager.findBy(ReportMailbox, { seenUid: '1000' });
    expect(newer.map(({ leaseUntil }) => leaseUntil !== null)).to.deep.equal([true]);
    await deps.db.run(sql`UPDATE report_mailboxes SET lease_until = NULL`);
  });

  it('is read from its first message if the server has numbered the messages again', async () => {
    await server.append(...others(2));
    expect(await fetchOnce()).to.include({ left: 2 });
    await deps.db.run(sql`UPDATE report_mailboxes SET validity = 7 WHERE seen_uid = 2`);
    expect(await fetchOnce()).to.include({ left: 2 });
  });

  it('may have messages of more than 262,144 bytes', async () => {
    const ids = await send(1);
    const [text = ''] = ids.map(report);
    await server.append(text.replace('Ahoy', 'x'.repeat(70).concat('\r\n').repeat(20_000)));
    expect(await fetchOnce()).to.include({ recorded: 1 });
    expect(await isBounced(ids)).to.equal(true);
  });

  it('of two clubs is recorded for each club alone', async () => {
    const [[mine = ''], [theirs = '']] = [await send(1), await send(1)];
    await server.append(
      report(mine),
      deliveryReport({
        date: bouncedAt,
        returned: [`X-Club-Mail-Id: ${newId()}`, `Message-ID: <${theirs}@platform.example>`],
      }),
    );
    expect(await fetchOnce()).to.include({ recorded: 1, left: 1 });
    expect((await bounces([theirs])).map(({ at }) => at)).to.deep.equal([null]);
  });

  it('is never used without TLS on another machine', async () => {
    // This form of the address is not known as one of this machine.
    const url = new Secret(server.url.reveal().replace('localhost', '[::ffff:127.0.0.1]'));
    const fault = await fetchOnce({ mailbox: { url } }).catch((error: unknown) => error);
    expect(fault).to.be.instanceOf(MailboxUnreachable);
  });

  it('is used over TLS with a trusted certificate', async () => {
    const authority = await makeAuthority();
    const certificate = await authority.issue(['localhost']);
    const secured = await startImapServer({ ...certificate, authority: authority.certificate });
    try {
      const ids = await send(1);
      await secured.append(...ids.map(report));
      const untrusted = await fetchOnce({ mailbox: { url: secured.url } }).catch((error: unknown) => error);
      expect(untrusted).to.be.instanceOf(MailboxUnreachable);
      expect(await fetchOnce({ mailbox: { url: secured.url, extraCa: authority.certificate } })).to.include({
        recorded: 1,
      });
    } finally {
      await secured.close();
    }
  });

  describe('of a server that does not work', () => {
    const sockets: Socket[] = [];
    const brokenServer = async (react: (socket: Socket) => void) => {
      const listener = createServer((socket) => {
        sockets.push(socket);
        socket.on('error', () => {});
        react(socket);
      }).listen(0, '127.0.0.1');
      await once(listener, 'listening');
      const { port } = listener.address() as AddressInfo;
      return { url: new Secret(`imap://user:top-secret@127.0.0.1:${port}`), close: () => listener.close() };
    };
    afterEach(() => sockets.splice(0).forEach((socket) => socket.destroy()));

    const broken: Record<string, (socket: Socket) => void> = {
      'hangs up': (socket) => socket.destroy(),
      'speaks another protocol': (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'),
      'refuses the password': (socket) => {
        socket.write('* OK ready\r\n');
        socket.on('data', (data) => {
          for (const [, tag = '', command = ''] of data.toString().matchAll(/^(\S+) (\S+)/gm))
            socket.write(
              command.toUpperCase() === 'CAPABILITY'
                ? `* CAPABILITY IMAP4rev1\r\n${tag} OK\r\n`
                : `${tag} NO top-secret\r\n`,
            );
        });
      },
      'sends a line without end': (socket) => {
        socket.write(`* OK ${'x'.repeat(5_000_000)}`);
      },
    };
    for (const [what, react] of Object.entries(broken))
      it(`fails without words of the server, and is free for the next worker, if the server ${what}`, async () => {
        const bad = await brokenServer(react);
        try {
          const fault = await fetchOnce({ mailbox: { url: bad.url } }).catch((error: unknown) => error);
          expect(fault).to.be.instanceOf(MailboxUnreachable);
          expect(String((fault as Error).stack)).not.to.include('top-secret');
          const again = await fetchOnce({ mailbox: { url: bad.url } }).catch((error: unknown) => error);
          expect(again).to.be.instanceOf(MailboxUnreachable);
        } finally {
          bad.close();
        }
      });

    const refusingServer = (refusal: string) =>
      brokenServer((socket) => {
        const answers: Record<string, string> = {
          CAPABILITY: '* CAPABILITY IMAP4rev1\r\n',
          LIST: '* LIST () "/" INBOX\r\n',
          SELECT: '* 2 EXISTS\r\n* FLAGS ()\r\n* OK [UIDVALIDITY 5] ok\r\n* OK [UIDNEXT 3] ok\r\n',
          'UID SEARCH': '* SEARCH 1 2\r\n',
          'UID FETCH': '* 2 FETCH (UID 2 BODY[]<0> {2}\r\nHi)\r\n',
        };
        socket.write('* OK ready\r\n');
        socket.on('data', (data) => {
          for (const [, tag = '', command = '', uid = ''] of data
            .toString()
            .matchAll(/^(\S+) ((?:UID )?[A-Z]+)(?: ([^ \r]+))?/gm))
            socket.write(
              command === 'UID FETCH' && uid === '1'
                ? `${tag} NO ${refusal}\r\n`
                : `${answers[command] ?? ''}${tag} OK\r\n`,
            );
        });
      });

    it('skips a message that the server can never read, and reads the next messages', async () => {
      const bad = await refusingServer('[SERVERBUG] Internal error');
      try {
        expect(await fetchOnce({ mailbox: { url: bad.url } })).to.deep.equal({ recorded: 0, left: 2, more: false });
      } finally {
        bad.close();
      }
    });

    it('reads a message later if the server refuses it for a while only', async () => {
      const bad = await refusingServer('[UNAVAILABLE] Later');
      try {
        const fault = await fetchOnce({ mailbox: { url: bad.url } }).catch((error: unknown) => error);
        expect(fault).to.be.instanceOf(MailboxUnreachable);
      } finally {
        bad.close();
      }
    });

    it('skips a message at which ten fetches failed', async () => {
      const bad = await refusingServer('[UNAVAILABLE] Later');
      try {
        const outcomes = [];
        for (let run = 0; run < 11; run++)
          outcomes.push(await fetchOnce({ mailbox: { url: bad.url } }).catch(() => 'failed'));
        expect(outcomes).to.deep.equal([
          ...Array.from({ length: 10 }, () => 'failed'),
          { recorded: 0, left: 2, more: false },
        ]);
      } finally {
        bad.close();
      }
    });

    it('is left after a time limit if the server hangs', async () => {
      const bad = await brokenServer(() => undefined);
      const startedAt = performance.now();
      try {
        const fault = await withMailbox({ url: bad.url }, AbortSignal.timeout(2_000), async () => undefined).catch(
          (error: unknown) => error,
        );
        expect(fault).to.be.instanceOf(MailboxUnreachable);
        expect(performance.now() - startedAt).to.be.below(8_000);
      } finally {
        bad.close();
      }
    });
  });
});
