/** Tests the mails that people receive, from the API through the worker to a real mailbox. */
import { expect } from 'chai';
import type { Mailbox, Message } from '../../dev/mailbox/mailbox.ts';
import { newId } from '../../platform/core/ids.ts';
import { buildClub, buildStudent, password, type TestClub } from '../toolkit/builders/clubs.ts';
import { administratorAccounts, studentAccounts } from '../toolkit/drive/accounts.ts';
import { alter } from '../toolkit/drive/alter.ts';
import { call } from '../toolkit/drive/api.ts';
import { until } from '../toolkit/drive/until.ts';
import { testDatabase } from '../toolkit/stack/database.ts';
import { testStack } from '../toolkit/stack/stack.ts';
import { useWorker } from '../toolkit/stack/worker.ts';

const second = 1_000;
const someone = () => `${newId()}@example.com`;

describe('mails', function () {
  this.timeout(40 * second);
  const startWorker = useWorker();
  let mailbox: Mailbox;
  let club: TestClub;
  before('start the worker', async function () {
    this.timeout(60 * second);
    const stack = await testStack();
    if (!stack.mailbox) throw new Error('The test stack has no mailbox');
    mailbox = stack.mailbox;
    await startWorker({ WORKER_TASK_QUEUES: 'mail' });
    club = await buildClub();
  });
  after('forget the faults', () => mailbox?.succeed());

  const mailTo = (email: string, timeoutMs = 10 * second): Promise<Message> =>
    mailbox.waitFor(({ to }) => to.includes(email.toLowerCase()), timeoutMs);
  /** Returns the only link of a mail. The text and the HTML must contain the same link. */
  const linkIn = ({ text, html = '' }: Message): URL => {
    const [, link = ''] = /(https?:\/\/\S+)/.exec(text) ?? [];
    const [, href = ''] = /href="([^"]+)"/.exec(html) ?? [];
    expect(href.replaceAll('&amp;', '&')).to.equal(link);
    return new URL(link);
  };
  const tokenIn = (message: Message) => linkIn(message).searchParams.get('token') ?? '';
  const rowOf = async (message: Message) => {
    const source = await testDatabase();
    const [, id] = /<([0-9a-f-]{36})@/.exec(message.message_id) ?? [];
    const [row] = await source.query<object[]>(`SELECT status, attempt_count FROM transactional_mails WHERE id = $1`, [
      id,
    ]);
    return row;
  };

  it('contain a link that confirms a student’s sign-up', async () => {
    const students = studentAccounts(club.id);
    const email = someone();
    await students.signUp(email, password);
    const mail = await mailTo(email);
    const { body } = await students.verify(tokenIn(mail));
    expect(body.data.student).to.include({ email, verified: true });
    const slug: string = body.data.student.club_slug;
    expect(linkIn(mail).hostname).to.equal(`${slug}.classroom.localhost`);
    expect(linkIn(mail).pathname).to.equal('/verify-email');
    expect(mail.to).to.deep.equal([email]);
  });

  it('contain a link that sets a new password for a student who forgot it', async () => {
    const students = studentAccounts(club.id);
    const { email } = await buildStudent(club.id);
    await students.requestReset(email);
    const mail = await mailTo(email);
    expect(linkIn(mail).pathname).to.equal('/reset-password');
    expect((await students.confirmReset(tokenIn(mail), 'a newly chosen phrase')).status).to.equal(200);
    expect((await students.signIn(email, 'a newly chosen phrase')).status).to.equal(200);
  });

  it('contain a code of six digits, but no link, if a student requested a sign-in code', async () => {
    const { email } = await buildStudent(club.id);
    const answer = await call('POST', '/v1/auth/code', { body: { club_id: club.id, email } });
    const mail = await mailTo(email);
    const [, code] = /\b(\d{6})\b/.exec(mail.text) ?? [];
    expect(mail.subject).to.match(new RegExp(`^${code} `));
    expect(mail.text + (mail.html ?? '')).to.not.match(/https?:|href/);
    const body = { club_id: club.id, email, code_id: answer.body.data.code_id, code };
    expect((await call('POST', '/v1/auth/code/exchange', { body })).status).to.equal(200);
  });

  it('contain a link without a token if a confirmed student signs up again', async () => {
    const { email } = await buildStudent(club.id);
    await studentAccounts(club.id).signUp(email, 'quite another phrase');
    const mail = await mailTo(email);
    expect(mail.subject).to.match(/^You already have an account/);
    expect(linkIn(mail).search).to.equal('');
  });

  it('contain a link that confirms an administrator, or a link that accepts an invitation', async () => {
    const owner = someone();
    await administratorAccounts().signUp(owner, password);
    const { body } = await administratorAccounts().verify(tokenIn(await mailTo(owner)));
    const { token, administrator } = body.data;
    const clubId: string = administrator.organizations[0].organization_id;

    const email = someone();
    await call('POST', `/v1/clubs/${clubId}/members`, { token, body: { email, role: 'editor' } });
    const mail = await mailTo(email);
    expect(mail.subject).to.include('Harbour Academy');
    expect(linkIn(mail).hostname).to.equal('dashboard.localhost');
    const accepted = await call('POST', '/v1/auth/admin/invitations/accept', {
      body: { token: tokenIn(mail), name: 'Edsger', password },
    });
    expect(accepted.body.data.administrator.organizations[0]).to.include({ organization_id: clubId, role: 'editor' });
  });

  it('contain names that are escaped in HTML', async () => {
    const { email } = await buildStudent(club.id, { name: `Ann "A" O'Hara & co <3` });
    await studentAccounts(club.id).requestReset(email);
    expect((await mailTo(email)).html).to.include('Ann &quot;A&quot; O&#39;Hara &amp; co &lt;3');
  });

  it('contain no markup and no extra header if a name contains markup and a line break', async () => {
    const { email, id } = await buildStudent(club.id);
    await alter('students', id, { name: `<img src=x onerror="alert('1')"> & "co"\r\nBcc: victim@localhost` });
    await studentAccounts(club.id).requestReset(email);
    const mail = await mailTo(email);
    expect(`${mail.subject} ${mail.html} ${mail.text}`).to.not.match(/onerror|victim/);
    expect(mail.headers).to.not.have.property('bcc');
    expect(mail.to).to.deep.equal([email]);
  });

  it('name a club by its slug if its name contains line breaks or markup', async () => {
    const source = await testDatabase();
    const hostile = await buildClub();
    const { email } = await buildStudent(hostile.id);
    await source.query(`UPDATE clubs SET name = $2 WHERE id = $1`, [
      hostile.id,
      'Club\r\nBcc: victim@localhost\r\n\r\n<script>alert(1)</script>',
    ]);
    await studentAccounts(hostile.id).requestReset(email);
    const mail = await mailTo(email);
    expect(mail.subject).to.match(/^Reset your password for club-[0-9a-f-]+$/);
    expect(mail.html).to.not.include('<script');
    expect(mail.to).to.deep.equal([email]);
  });

  it('are sent exactly once if the mail server refuses only the first attempt (451)', async () => {
    const students = studentAccounts(club.id);
    const email = someone();
    mailbox.failNext({ at: 'rcpt', reply: 451, to: email });
    await students.signUp(email, password);
    const mail = await mailTo(email, 20 * second);
    await until('the record', { timeoutMs: 5 * second }, async () => {
      const row = await rowOf(mail);
      return row && 'status' in row && row.status === 'sent';
    });
    expect(await rowOf(mail)).to.deep.equal({ status: 'sent', attempt_count: 2 });
    expect(mailbox.summaries({ to: email })).to.have.length(1);
    expect((await students.verify(tokenIn(mail))).status).to.equal(200);
  });

  it('are not sent to an unknown person', async () => {
    const email = someone();
    const students = studentAccounts(club.id);
    for (const ask of [students.requestReset, students.resend]) await ask(email);
    await call('POST', '/v1/auth/code', { body: { club_id: club.id, email } });
    // A later mail has arrived, so an earlier mail to the unknown person would have arrived too.
    const known = await buildStudent(club.id);
    await students.requestReset(known.email);
    await mailTo(known.email);
    expect(mailbox.summaries({ to: email })).to.deep.equal([]);
  });
});
