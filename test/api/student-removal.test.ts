import { expect } from 'chai';
import { newId, type Id } from '../../platform/core/ids.ts';
import { codeFailureKey } from '../../domain/mail/codes/codes.ts';
import { addressKeyOf } from '../../platform/infra/keys/address-keys.ts';
import { CodeFailureCount } from '../../entities/mail/code-failure-count.ts';
import { sha256 } from '../../platform/infra/keys/vault.ts';
import { fanOut } from '../../domain/webhooks/events/fan-out.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildEnrollment } from '../toolkit/builders/access.ts';
import { buildOpenAgent } from '../toolkit/builders/agents.ts';
import { buildClub, buildStudent, password, type TestClub, type TestStudent } from '../toolkit/builders/clubs.ts';
import { mailedToken, openFurtherSession } from '../toolkit/builders/sessions.ts';
import { buildEndpoint, factAbout } from '../toolkit/builders/webhooks.ts';
import { studentAccounts } from '../toolkit/drive/accounts.ts';
import { appendWords, endAnswer } from '../toolkit/drive/answers.ts';
import { call, expectError } from '../toolkit/drive/api.ts';
import { askingOf } from '../toolkit/drive/asking.ts';
import { columnsHolding, factsOf, mailsTo, rowCounts, testDatabase, testDeps } from '../toolkit/stack/database.ts';

const remove = (club: TestClub, id: Id, token = club.owner.token) =>
  call('DELETE', `/v1/clubs/${club.id}/students/${id}`, { token });

/** Creates a student with sessions and mails, and with webhook deliveries that are sent, failed and pending. */
async function buildHistory() {
  const { db } = await testDeps();
  const source = await testDatabase();
  const club = await buildClub();
  const endpoint = await buildEndpoint(club.id, 'https://93.184.216.34/hooks');
  const tag = newId().slice(-12);
  const name = `Removable Rosalind ${tag}`;
  const student = await buildStudent(club.id, { name, email: `rosalind.${tag}@example.com` });
  const bystander = await buildStudent(club.id);
  const students = studentAccounts(club.id);
  await students.requestReset(student.email);
  await students.signUp(student.email, 'offered by a stranger');
  const { body: answer } = await call('POST', '/v1/auth/code', { body: { club_id: club.id, email: student.email } });
  const codeId: Id = answer.data.code_id;
  const wrong = { club_id: club.id, email: student.email, code_id: codeId, code: '000000' };
  await call('POST', '/v1/auth/code/exchange', { body: wrong });

  const deliveryOf = async (studentId: Id) => {
    const [delivery] = await fanOut(db, factAbout({ clubId: club.id, studentId }, 'student.updated'), new Date());
    if (!delivery) throw new Error('Fan-out created no delivery');
    return delivery.id;
  };
  const deliveries = {
    pending: await deliveryOf(student.id),
    succeeded: await deliveryOf(student.id),
    failed: await deliveryOf(student.id),
    bystanders: await deliveryOf(bystander.id),
  };
  for (const status of ['succeeded', 'failed'] as const) {
    await source.query(`UPDATE webhook_deliveries SET status = $2, completed_at = now() WHERE id = $1`, [
      deliveries[status],
      status,
    ]);
  }
  for (const id of Object.values(deliveries)) {
    await source.query(
      `INSERT INTO webhook_attempts (delivery_id, fence, number, trigger, started_at, outcome, duration_ms, response_status, response_excerpt)
       VALUES ($1, 1, 1, 'schedule', now(), 'http_error', 5, 500, $2)`,
      [id, `cannot store ${name} <${student.email}>`],
    );
  }
  const conversation = await converse(club.id, student, `${name} <${student.email}>`);
  return { club, endpoint, student, bystander, name, codeId, deliveries, conversation };
}

/** Creates a conversation with a finished answer and an unfinished answer. Each text of the conversation contains the given text. */
async function converse(clubId: Id, student: TestStudent, text: string) {
  const agent = await buildOpenAgent(clubId);
  await buildEnrollment(clubId, { studentId: student.id, deliveryId: agent.deliveryId, startsAt: new Date(0) });
  const classroom = askingOf(agent, student);
  const { answerId, conversationId } = await classroom.ask({ content: `What of ${text}?` });
  await appendWords(answerId, `I know of ${text}`);
  await endAnswer(answerId, { citations: [{ citedText: text }] });
  const underWay = await classroom.ask({ content: `And of ${text}?`, conversation_id: conversationId });
  await appendWords(underWay.answerId, `So far ${text}`);
  return { underWay };
}

type History = Awaited<ReturnType<typeof buildHistory>>;

const conversationColumns = [
  'agent_answer_deltas.text',
  'agent_answers.content',
  'agent_citations.cited_text',
  'agent_conversations.title',
  'agent_questions.content',
];

const readDelivery = async ({ club, endpoint }: History, id: Id) => {
  const path = `/v1/clubs/${club.id}/webhook-endpoints/${endpoint.id}/deliveries/${id}`;
  return (await call('GET', path, { token: club.owner.token })).body.data;
};

describe('DELETE /v1/clubs/{clubId}/students/{studentId}', () => {
  describe('204', () => {
    let history: History;
    let student: TestStudent;
    let club: TestClub;
    let tokens: { reset: string; code: string; elsewhere: string };
    before('remove a student', async () => {
      history = await buildHistory();
      ({ student, club } = history);
      tokens = {
        reset: await mailedToken('student_reset_password', student.id),
        code: await mailedToken('student_code', student.id),
        elsewhere: await openFurtherSession('student', student.id),
      };
      const answer = await remove(club, student.id);
      expect([answer.status, answer.text]).to.deep.equal([204, '']);
    });

    it('keeps an anonymous row of the student, without name, e-mail, password or confirmation', async () => {
      const source = await testDatabase();
      const [row] = await source.query<{ removed_at: Date }[]>(`SELECT * FROM students WHERE id = $1`, [student.id]);
      expect(row).to.include({
        id: student.id,
        club_id: club.id,
        name: 'Removed student',
        email: null,
        password_hash: null,
        verified_at: null,
        avatar_key: null,
      });
      expect(row?.removed_at).to.be.an.instanceOf(Date);
    });

    it('ends every session immediately', async () => {
      await eachCase([student.token, tokens.elsewhere], async (token) =>
        expectError(await call('GET', '/v1/auth/session', { token }), 'unauthenticated'),
      );
    });

    it('makes mailed tokens and codes invalid, and refuses every password', async () => {
      const students = studentAccounts(club.id);
      const { db, vault } = await testDeps();
      const addressKey = codeFailureKey(club.id, addressKeyOf(vault, student.email));
      expect(await db.source.manager.existsBy(CodeFailureCount, { addressKey })).to.equal(false);
      expectError(await students.confirmReset(tokens.reset, 'a newly chosen phrase'), 'token_gone');
      const body = { club_id: club.id, email: student.email, code_id: history.codeId, code: tokens.code };
      expectError(await call('POST', '/v1/auth/code/exchange', { body }), 'token_gone');
      await eachCase([password, 'offered by a stranger'], async (phrase) =>
        expectError(await students.signIn(student.email, phrase), 'invalid_credentials'),
      );
      const source = await testDatabase();
      const tokenRows = await source.query<unknown[]>(`SELECT 1 FROM one_time_tokens WHERE student_id = $1`, [
        student.id,
      ]);
      expect(tokenRows).to.deep.equal([]);
    });

    it('raises one student.removed and no other fact', async () => {
      expect(await factsOf(club.id)).to.deep.equal([{ type: 'student.removed', studentId: student.id }]);
    });

    it('cancels unsent webhook deliveries with the reason student_removed, and wakes their workflows', async () => {
      const delivery = await readDelivery(history, history.deliveries.pending);
      expect(delivery).to.include({ status: 'canceled', cancel_reason: 'student_removed', payload_purged: true });
      expect(delivery).to.have.property('completed_at');
      expect(delivery).to.not.have.property('next_attempt_at');
      const source = await testDatabase();
      const [wake] = await source.query<object[]>(
        `SELECT workflow_id, workflow_type FROM wakes WHERE subject_id = $1 AND club_id = $2`,
        [history.deliveries.pending, club.id],
      );
      expect(wake).to.deep.equal({
        workflow_id: `webhook-delivery/${history.deliveries.pending}`,
        workflow_type: 'webhookDelivery',
      });
    });

    it('keeps the status of ended webhook deliveries, but erases their bodies and response excerpts', async () => {
      await eachCase(['succeeded', 'failed'] as const, async (status) => {
        const delivery = await readDelivery(history, history.deliveries[status]);
        expect(delivery).to.include({ status, payload_purged: true });
        expect(delivery).to.not.have.any.keys('body', 'cancel_reason');
        expect(delivery.attempts).to.have.length(1);
        expect(delivery.attempts[0]).to.not.have.property('response_excerpt');
      });
    });

    it('keeps webhook messages about other students', async () => {
      const delivery = await readDelivery(history, history.deliveries.bystanders);
      expect(delivery).to.include({ status: 'pending', payload_purged: false });
      expect(delivery.body.data.student.id).to.equal(history.bystander.id);
      expect(delivery.attempts[0]).to.have.property('response_excerpt');
    });

    it('erases the name and the e-mail from every column of every table', async () => {
      // The receiver's answer to another student's message contains the name. The service cannot find this excerpt, so the excerpt remains.
      const source = await testDatabase();
      await source.query(`UPDATE webhook_attempts SET response_excerpt = NULL WHERE delivery_id = $1`, [
        history.deliveries.bystanders,
      ]);
      for (const trace of [history.name, history.name.split(' ').at(-1) ?? '', student.email]) {
        expect(await columnsHolding(trace), trace).to.deep.equal([]);
      }
    });

    it('ends an unfinished answer and its stream with the error student_removed', async () => {
      const { stream, data } = history.conversation.underWay;
      const failed = (await stream.event('error')).data;
      expect(failed.answer).to.include({ status: 'failed', error_code: 'student_removed', content: '' });
      const source = await testDatabase();
      const wakes = await source.query<object[]>(`SELECT workflow_type FROM wakes WHERE subject_id = $1`, [
        data.question.id,
      ]);
      expect(wakes).to.deep.equal([{ workflow_type: 'agentAnswer' }]);
    });

    it('removes the student from lists and reads', async () => {
      const token = club.owner.token;
      const { body } = await call('GET', `/v1/clubs/${club.id}/students`, { token });
      expect(body.data.map(({ id }: { id: Id }) => id)).to.deep.equal([history.bystander.id]);
      expectError(await call('GET', `/v1/clubs/${club.id}/students/${student.id}`, { token }), 'not_found');
    });
  });

  it('is tested by a search that finds name and e-mail before the removal', async () => {
    const { name, student } = await buildHistory();
    expect(await columnsHolding(name)).to.deep.equal([
      ...conversationColumns,
      'students.name',
      'webhook_attempts.response_excerpt',
      'webhook_bodies.body',
    ]);
    expect(await columnsHolding(student.email)).to.deep.equal([
      ...conversationColumns,
      'students.email',
      'webhook_attempts.response_excerpt',
      'webhook_bodies.body',
    ]);
  });

  it('returns 404 for a student who is unknown, removed or of another club, and writes nothing', async () => {
    const club = await buildClub();
    const foreign = await buildStudent((await buildClub()).id);
    const removed = await buildStudent(club.id);
    await remove(club, removed.id);
    const before = await rowCounts();
    await eachCase([newId(), foreign.id, removed.id], async (id) => expectError(await remove(club, id), 'not_found'));
    expect(await rowCounts()).to.deep.equal(before);
  });

  it('removes the student once, and raises one student.removed fact, for three simultaneous requests', async () => {
    const club = await buildClub();
    const { id } = await buildStudent(club.id);
    const answers = await Promise.all([1, 2, 3].map(() => remove(club, id)));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).to.deep.equal([204, 404, 404]);
    expect((await factsOf(club.id)).map(({ type }) => type)).to.deep.equal(['student.removed']);
  });

  it('prevents the mail for a password reset that is requested after the removal', async () => {
    const club = await buildClub();
    const students = studentAccounts(club.id);
    const { id, email } = await buildStudent(club.id);
    await remove(club, id);
    await students.requestReset(email);
    expect(await mailsTo(id)).to.deep.equal([]);
  });

  it('ends even a session that is used during the removal', async () => {
    const club = await buildClub();
    const { id, token } = await buildStudent(club.id);
    await Promise.all([remove(club, id), ...[1, 2, 3].map(() => call('GET', '/v1/auth/session', { token }))]);
    const source = await testDatabase();
    const rows = await source.query<unknown[]>(`SELECT 1 FROM student_sessions WHERE token_hash = $1`, [sha256(token)]);
    expect(rows).to.deep.equal([]);
  });
});
