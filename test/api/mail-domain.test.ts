import { expect } from 'chai';
import { dkimVerify } from 'mailauth/lib/dkim/verify.js';
import { lookAtMailDomain } from '../../domain/mail/domains/checking.ts';
import type { MailDomainSettings } from '../../domain/mail/domains/domains.ts';
import { fromOf } from '../../domain/mail/domains/from.ts';
import { MailDomain } from '../../entities/mail/mail-domain.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { textResolver } from '../../platform/infra/dns-text.ts';
import { createSmtpHandOver, type HandedMessage } from '../../platform/infra/smtp/smtp-hand-over.ts';
import { readConfig } from '../../config.ts';
import { buildClub, buildMember, type TestClub } from '../toolkit/builders/clubs.ts';
import { callAt, expectError, type Answer } from '../toolkit/drive/api.ts';
import { untilWaitingForLocks, withOpenTransaction } from '../toolkit/drive/races.ts';
import { startNameServer, type NameServer } from '../toolkit/fakes/name-server.ts';
import { serveApp, type ServedApp } from '../toolkit/stack/app.ts';
import { rowCounts, testDeps } from '../toolkit/stack/database.ts';
import { testStack } from '../toolkit/stack/stack.ts';

const hour = 3_600_000;

interface Shown {
  records: { kind: string; name: string; value: string; state: string }[];
  [field: string]: unknown;
}

describe('the mail domain of a club (CAMP-40)', () => {
  /** The TXT records of the simulated name server, which knows no other names. */
  const zone = new Map<string, readonly string[] | 'failure'>();
  let names: NameServer;
  let settings: MailDomainSettings;
  let served: ServedApp;
  let club: TestClub;
  before(async () => {
    names = await startNameServer((name) => {
      const texts = zone.get(name);
      return texts === undefined || texts === 'failure' ? texts : { texts };
    });
    settings = {
      resolveText: textResolver([names.address]),
      platformAddress: 'news@platform.example',
      spfInclude: 'spf.platform.example',
      warmUps: { clubs: [], domains: [] },
    };
    served = await serveApp({ deps: (usual) => ({ ...usual, deps: { ...usual.deps, mailDomains: settings } }) });
  });
  after(async () => {
    names.stop();
    await served.close();
  });
  beforeEach(async () => {
    zone.clear();
    club = await buildClub();
  });

  const send = (method: string, path = '', body?: object, { token } = club.owner): Promise<Answer> =>
    callAt(served.base, method, `/v1/clubs/${club.id}/mail/domain${path}`, { token, ...(body && { body }) });
  const set = async (domain = 'knots.example', more: object = {}): Promise<Shown> => {
    const { status, body } = await send('PUT', '', { domain, ...more });
    expect(status).to.equal(200);
    return body.data;
  };
  const publish = ({ records }: Shown) => records.forEach(({ name, value }) => zone.set(name, [value]));
  const check = async (): Promise<Shown> => (await send('POST', '/check')).body.data;
  const states = ({ status, records }: Shown) => [status, ...records.map(({ kind, state }) => `${kind} ${state}`)];
  const from = async () => fromOf(await testDeps(), club.id, 'news@platform.example');
  const rowOf = async () => (await testDeps()).db.manager.findOneByOrFail(MailDomain, { clubId: club.id });
  const lookAt = async (at: number) =>
    lookAtMailDomain({ ...(await testDeps()), mailDomains: settings }, (await rowOf()).id, at);

  it('is shown with the DNS records to publish, each as unchecked, and without the private key', async () => {
    const record = await set('Mail.Knötchen.example.', { local_part: 'hello' });
    expect(record).to.include({
      domain: 'mail.xn--kntchen-b1a.example',
      from_address: 'hello@mail.xn--kntchen-b1a.example',
      status: 'unproven',
    });
    expect(record.records.map(({ kind, state }) => `${kind} ${state}`)).to.deep.equal([
      'dkim unchecked',
      'spf unchecked',
      'dmarc unchecked',
    ]);
    const { sealedPrivateKey } = await rowOf();
    expect(sealedPrivateKey.includes('PRIVATE KEY')).to.equal(false);
    expect((await send('GET')).body.data).to.deep.equal(record);
  });

  it('is proven once a real name server returns all records, and shows the state of each record', async () => {
    const record = await set();
    expect(states(await check())).to.deep.equal(['unproven', 'dkim missing', 'spf missing', 'dmarc missing']);
    publish(record);
    zone.set('knots.example', ['v=spf1 -all', 'something else']);
    expect(states(await check())).to.deep.equal(['unproven', 'dkim ok', 'spf wrong', 'dmarc ok']);
    expect(await from()).to.include({ address: 'news@platform.example' });
    publish(record);
    const proven = await check();
    expect(states(proven)).to.deep.equal(['proven', 'dkim ok', 'spf ok', 'dmarc ok']);
    expect(proven.first_proven_at).to.equal(proven.checked_at);
    expect(await from()).to.include({ address: 'news@knots.example' });
  });

  it('is also proven if only a parent domain has the DMARC policy', async () => {
    const record = await set('mail.knots.example');
    publish(record);
    zone.delete('_dmarc.mail.knots.example');
    zone.set('_dmarc.knots.example', ['v=DMARC1; p=reject; adkim=s']);
    expect(states(await check())).to.deep.equal(['proven', 'dkim ok', 'spf ok', 'dmarc ok']);
  });

  it('keeps its key and its proven status only if the club sets the same domain again', async () => {
    publish(await set());
    const proven = await check();
    const again = await set('KNOTS.example', { local_part: 'crew' });
    expect(again).to.deep.equal({ ...proven, from_address: 'crew@knots.example' });
    const other = await set('ropes.example');
    expect(other).to.include({ status: 'unproven' }).and.not.to.have.property('first_proven_at');
    expect(other.records[0]?.value).not.to.equal(proven.records[0]?.value);
    const { db } = await testDeps();
    expect(await db.manager.countBy(MailDomain, { clubId: club.id })).to.equal(1);
  });

  it('gets a new key if the club sets it again while a removal commits', async () => {
    const before = await set();
    let answering: Promise<Shown> | undefined;
    await withOpenTransaction(
      (tx) => tx.run(sql`DELETE FROM mail_domains WHERE club_id = ${club.id}`),
      async () => {
        answering = set();
        await untilWaitingForLocks(1);
      },
    );
    const after = await answering;
    expect(after?.['domain']).to.equal('knots.example');
    expect(after?.records).to.not.deep.equal(before.records);
  });

  it('is replaced by the platform’s domain after its removal', async () => {
    publish(await set());
    await check();
    const { id } = await rowOf();
    expect((await send('DELETE')).status).to.equal(204);
    expect(await from()).to.deep.equal({ address: 'news@platform.example', domainProvenAt: null });
    expectError(await send('DELETE'), 'not_found');
    expectError(await send('GET'), 'not_found');
    expectError(await send('POST', '/check'), 'not_found');
    const deps = { ...(await testDeps()), mailDomains: settings };
    expect(await lookAtMailDomain(deps, id, Date.now())).to.deep.equal({ done: true, outcome: 'removed' });
  });

  for (const [domain, why] of [
    ['knots', 'has only one label'],
    ['10.0.0.1', 'is an IP address'],
    ['knots example.com', 'contains a blank'],
    ['-knots.example', 'begins with a hyphen'],
    ['platform.example', 'is the platform’s domain'],
    ['club.Platform.example', 'is below the platform’s domain'],
    ['knots.local', 'is not public'],
    ['kno\tts.example', 'contains a control character'],
    ['knots.example\n', 'ends with a line break'],
    ['kno\u200bts.example', 'contains an invisible character'],
    ['kno\u00adts.example', 'contains a soft hyphen'],
    ['a.b.c.d.e.f.g.h.example', 'has nine labels'],
    [`${'x'.repeat(64)}.example`, 'has a long label'],
  ] as const)
    it(`is refused with 422 if it ${why}`, async () => {
      const before = await rowCounts();
      expectError(await send('PUT', '', { domain }), 'invalid_request');
      expect(await rowCounts()).to.deep.equal(before);
    });

  it('cannot be changed by editors (403), because they may not choose the sender’s domain', async () => {
    const editor = await buildMember(club.id, 'editor');
    expectError(await send('PUT', '', { domain: 'knots.example' }, editor), 'role_not_permitted');
  });

  describe('the daily check of the domain', () => {
    it('finds new records, and sets `lapsed` when a record disappears', async () => {
      const record = await set();
      const { looksAt } = await rowOf();
      publish(record);
      const proven = await lookAt(looksAt.getTime());
      expect(proven).to.deep.equal({ done: false, at: looksAt.getTime() + 24 * hour, status: 'proven' });
      // A step that runs before the time of the next check does not ask a name server.
      const questionCount = names.questions.length;
      expect(await lookAt(looksAt.getTime() + hour)).to.deep.equal(proven);
      expect(names.questions).to.have.length(questionCount);
      zone.delete(record.records[0]?.name ?? '');
      expect(await lookAt(looksAt.getTime() + 24 * hour)).to.include({ status: 'lapsed' });
      expect(await from()).to.include({ address: 'news@platform.example' });
      publish(record);
      expect(await lookAt(looksAt.getTime() + 25 * hour)).to.include({ status: 'proven' });
    });

    it('changes nothing if the name server fails, and is repeated after an hour', async () => {
      const record = await set();
      publish(record);
      const before = await check();
      zone.set('knots.example', 'failure');
      const { looksAt } = await rowOf();
      expect(await lookAt(looksAt.getTime())).to.deep.equal({
        done: false,
        at: looksAt.getTime() + hour,
        status: 'proven',
      });
      expect(states((await send('GET')).body.data)).to.deep.equal(states(before));
    });
  });

  describe('the DKIM signature, checked by a second verifier', () => {
    const message: Omit<HandedMessage, 'to' | 'from'> = {
      envelopeFrom: 'bounces@platform.example',
      replyTo: 'crew@knots.example',
      subject: 'A knot – ñ',
      text: 'Ahoy\n.\nafter a lone dot',
      html: `<p>${'Ahoy '.repeat(500)}</p>`,
      messageId: '<1@platform.example>',
      headers: {
        'List-Id': '<campaigns.1.platform.example>',
        'List-Unsubscribe': `<https://api.example/${'x'.repeat(200)}>`,
        'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
        'Feedback-ID': '1:2:campaign:platform',
      },
    };
    /** Sends a message from the club's domain, and returns its source as the mailbox received it. */
    const received = async () => {
      publish(await set());
      await check();
      const { address, signWith } = await from();
      const smtp = createSmtpHandOver({ smtpUrl: readConfig().mail.smtpUrl, connections: 1 });
      const to = `ada-${club.id}@example.com`;
      await smtp.handOver({ ...message, to, from: { name: 'Knots', address }, ...(signWith && { signWith }) });
      smtp.close();
      const { mailbox } = await testStack();
      const [mail] = (await mailbox?.messages({ to })) ?? [];
      const source = await fetch(`${mailbox?.httpUrl}/messages/${mail?.id}/source`);
      return Buffer.from(await source.arrayBuffer()).toString('latin1');
    };
    const resolver = async (name: string) => (await settings.resolveText(name)).map((text) => [text]);
    const verify = async (source: string) => {
      const { results } = await dkimVerify(Buffer.from(source, 'latin1'), { resolver });
      const [result] = results;
      return (
        result && { result: result.status.result, aligned: result.status.aligned, signed: result.signingHeaders?.keys }
      );
    };

    it('is valid for the club’s domain, and does not cover the headers that providers replace', async () => {
      const source = await received();
      const verified = await verify(source);
      expect(verified).to.include({ result: 'pass', aligned: 'knots.example' });
      const signed = String(verified?.signed).toLowerCase().split(/:\s*/);
      expect(signed).to.include.members([
        'from',
        'to',
        'subject',
        'list-id',
        'list-unsubscribe',
        'list-unsubscribe-post',
      ]);
      expect(signed).not.to.include.members(['message-id']).and.not.to.include.members(['date']);
      const lines = source.split('\r\n').map((line) => line.replace(/^[\w-]+:/, (name) => name.toLowerCase()));
      for (const [name, value] of Object.entries(message.headers))
        expect(lines).to.include(`${name.toLowerCase()}: ${value}`);
    });

    it('stays valid if Message-ID and Date are replaced, but fails if the unsubscribe link is changed', async () => {
      const source = await received();
      const anew = source
        .replace(/^Message-ID: .*$/m, 'Message-ID: <0100-provider@ses.example>')
        .replace(/^Date: .*$/m, 'Date: Mon, 02 Mar 2026 12:00:00 +0000');
      expect(anew).not.to.equal(source);
      expect(await verify(anew)).to.include({ result: 'pass' });
      expect(await verify(source.replace('https://api.example', 'https://api.evil000'))).to.include({ result: 'fail' });
      expect(await verify(source.replace('List-Unsubscribe=One-Click', 'List-Unsubscribe=One-Clock'))).to.include({
        result: 'fail',
      });
    });
  });
});
