import { expect } from 'chai';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { createTransport, type SendMailOptions } from 'nodemailer';
import { type Mailbox, type Message, startMailbox, type Summary } from '../../dev/mailbox/mailbox.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';

describe('dev/mailbox', () => {
  let directory: string;
  let mailbox: Mailbox;
  beforeEach(async () => {
    directory = await mkdtemp(path.join(os.tmpdir(), 'mailbox-'));
    mailbox = await startMailbox({ directory });
  });
  afterEach(async () => {
    await mailbox.stop();
    await rm(directory, { recursive: true, force: true });
  });

  const send = async (changes: SendMailOptions = {}) => {
    const transport = createTransport({ url: mailbox.smtpUrl, connectionTimeout: 2_000 } as object);
    try {
      return await transport.sendMail({
        from: 'Club <club@example.com>',
        to: 'ada@example.com',
        subject: 'Hello',
        text: 'Hi Ada',
        ...changes,
      });
    } finally {
      transport.close();
    }
  };
  /** Returns the SMTP status or the system error code of a failed e-mail. */
  const failureOf = (work: Promise<unknown>) =>
    work.then(
      () => 'sent',
      (error: { responseCode?: number; code?: string }) => error.responseCode ?? error.code,
    );
  const getJson = async <T>(pathname: string) =>
    ((await (await fetch(`${mailbox.httpUrl}${pathname}`)).json()) as { data: T }).data;

  it('stores sent messages with envelope, headers and bodies', async () => {
    await send({
      html: '<p>Hi Ada</p>',
      headers: { 'List-Unsubscribe': '<https://example.com/u>' },
      bcc: 'eve@example.com',
    });
    const [message] = await mailbox.messages();
    expect(message).to.include({
      from: 'club@example.com',
      subject: 'Hello',
      text: 'Hi Ada\n',
      html: '<p>Hi Ada</p>\n',
    });
    expect(message?.to).to.deep.equal(['ada@example.com', 'eve@example.com']);
    expect(message?.headers['list-unsubscribe']).to.equal('<https://example.com/u>');
  });

  it('lists the newest message first, and filters by address in any letter case', async () => {
    await send({ subject: 'one' });
    await send({ subject: 'two', to: 'Bob@example.com' });
    await send({ subject: 'three' });
    const subjects = (messages: readonly Summary[]) => messages.map(({ subject }) => subject);
    expect(subjects(mailbox.summaries())).to.deep.equal(['three', 'two', 'one']);
    expect(subjects(mailbox.summaries({ to: 'ADA@example.com' }))).to.deep.equal(['three', 'one']);
    expect(subjects(await getJson<Summary[]>('/api/messages?to=bob@example.com'))).to.deep.equal(['two']);
  });

  it('still has its messages after a restart', async () => {
    await send({ subject: 'kept' });
    await mailbox.stop();
    mailbox = await startMailbox({ directory });
    await send({ subject: 'new' });
    const [newest, kept] = mailbox.summaries();
    expect([newest?.subject, kept?.subject]).to.deep.equal(['new', 'kept']);
    expect(newest?.id).not.to.equal(kept?.id);
    expect((await getJson<Message>(`/api/messages/${kept?.id}`)).text).to.equal('Hi Ada\n');
  });

  it('logs a JSON line for each accepted message, before it answers the sender', async () => {
    const { messageId } = await send();
    const lines = (await readFile(mailbox.logFile, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Summary);
    expect(lines.map((line) => line.message_id)).to.deep.equal([messageId]);
  });

  it('waits for a later message, finds an earlier message, and stops waiting after the timeout', async () => {
    const later = mailbox.waitFor(({ subject }) => subject === 'later', 5_000);
    await send({ subject: 'later' });
    expect((await later).subject).to.equal('later');
    expect((await mailbox.waitFor(({ text }) => text.includes('Ada'), 5_000)).subject).to.equal('later');
    const failure = await mailbox
      .waitFor(() => false, 20)
      .then(
        () => '',
        (error: Error) => error.message,
      );
    expect(failure).to.equal('No such message within 20 ms; 1 others exist.');
  });

  describe('when a test requests a failure', () => {
    for (const at of ['connect', 'mail', 'rcpt', 'message'] as const) {
      for (const reply of [451, 550]) {
        it(`refuses one mail with ${reply} at ${at}, and stores no mail`, async () => {
          mailbox.failNext({ at, reply });
          expect(await failureOf(send())).to.equal(reply);
          expect(mailbox.summaries()).to.deep.equal([]);
          expect(await failureOf(send())).to.equal('sent');
        });
      }
    }

    for (const at of ['connect', 'mail', 'rcpt', 'data', 'message'] as const) {
      it(`closes the connection at ${at} once, and stores nothing`, async () => {
        mailbox.failNext({ at, reply: 'drop' });
        expect(await failureOf(send())).to.be.oneOf([
          'ECONNECTION',
          'ECONNRESET',
          'EENVELOPE',
          'EMESSAGE',
          'ESOCKET',
          'EPROTOCOL',
        ]);
        expect(mailbox.summaries()).to.deep.equal([]);
        expect(await failureOf(send())).to.equal('sent');
      });
    }

    it('closes the connection after it has stored the message', async () => {
      mailbox.failNext({ at: 'message', reply: 'drop', kept: true });
      expect(await failureOf(send())).not.to.equal('sent');
      expect(mailbox.summaries()).to.have.lengthOf(1);
    });

    it('refuses one recipient the requested number of times, and refuses no other recipient', async () => {
      mailbox.failNext({ at: 'rcpt', reply: 550, to: 'Bob@example.com', times: 2 });
      expect(await failureOf(send())).to.equal('sent');
      expect(await failureOf(send({ to: 'bob@example.com' }))).to.equal(550);
      expect(await failureOf(send({ to: 'bob@example.com' }))).to.equal(550);
      expect(await failureOf(send({ to: 'bob@example.com' }))).to.equal('sent');
    });
  });

  describe('in a browser', () => {
    const attack = '<script>alert(1)</script>';
    it('escapes subject, addresses and text of a message', async () => {
      await send({
        subject: attack,
        text: `${attack} https://example.com/?a="><b>`,
        from: `"${attack}" <club@example.com>`,
      });
      const [summary] = mailbox.summaries();
      await eachCase(['/', `/messages/${summary?.id}`, `/?to=${encodeURIComponent(`"${attack}`)}`], async (page) => {
        const response = await fetch(`${mailbox.httpUrl}${page}`);
        expect(response.status).to.equal(200);
        expect(await response.text())
          .not.to.contain('<script')
          .and.not.to.contain('"><b>');
        expect(response.headers.get('content-security-policy')).to.contain("default-src 'none'");
      });
    });

    it('shows the HTML of a message in a sandbox without scripts', async () => {
      await send({ html: attack });
      const [summary] = mailbox.summaries();
      const page = await (await fetch(`${mailbox.httpUrl}/messages/${summary?.id}`)).text();
      expect(page).to.contain(`<iframe src="/messages/${summary?.id}/html"`);
      expect(page).not.to.contain(attack);
      const response = await fetch(`${mailbox.httpUrl}/messages/${summary?.id}/html`);
      expect(response.headers.get('content-security-policy')).to.match(
        /^sandbox (?!.*allow-scripts).*default-src 'none'/,
      );
    });

    it('answers 404 for an unknown message', async () => {
      expect((await fetch(`${mailbox.httpUrl}/api/messages/1-1`)).status).to.equal(404);
      expect((await fetch(`${mailbox.httpUrl}/messages/1-1`)).status).to.equal(404);
    });
  });
});
