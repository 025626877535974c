import { expect } from 'chai';
import { mailKinds } from '../../domain/contexts.ts';
import { sendTransactionalMail, type OutgoingMail } from '../../domain/mail/transactional/send.ts';
import { requestMail } from '../../domain/mail/transactional/requests.ts';
import { unsubscribeToken } from '../../domain/mail/suppressions/unsubscribe-link.ts';
import type { MailTemplate } from '../../entities/mail/values.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { removeStudent } from '../../domain/students/students.ts';
import { buildPlan } from '../toolkit/builders/billing.ts';
import {
  buildAdministrator,
  buildClub,
  buildStudent,
  type TestClub,
  type TestStudent,
} from '../toolkit/builders/clubs.ts';
import { call, expectError } from '../toolkit/drive/api.ts';
import { callsOf } from '../toolkit/drive/club-calls.ts';
import { testDeps } from '../toolkit/stack/database.ts';

describe('the language of people and clubs (DEC-183)', () => {
  let deps: Awaited<ReturnType<typeof testDeps>>;
  let club: TestClub;
  let student: TestStudent;
  beforeEach(async () => {
    deps = await testDeps();
    club = await buildClub({ language: 'pt-BR' });
    student = await buildStudent(club.id);
  });

  /** @returns the mail that the service would send after a new request with this template */
  async function mailed(
    template: MailTemplate,
    recipient: { studentId: Id } | { administratorId: Id },
  ): Promise<OutgoingMail> {
    const now = new Date();
    await deps.db.transaction((tx) =>
      requestMail(tx, deps.vault, { template, clubId: club.id, recipient, email: 'x@example.com' }, now),
    );
    return sentTo(Object.values(recipient)[0] ?? '');
  }

  async function sentTo(personId: Id): Promise<OutgoingMail> {
    const [{ id }] = await deps.db.source.query<[{ id: Id }]>(
      `SELECT id FROM transactional_mails WHERE student_id = $1 OR administrator_id = $1 ORDER BY created_at DESC LIMIT 1`,
      [personId],
    );
    const outbox: OutgoingMail[] = [];
    await sendTransactionalMail(
      {
        db: deps.db,
        vault: deps.vault,
        links: {
          classroomUrl: 'https://{slug}.example.com',
          dashboardUrl: 'https://dashboard.example.com',
          publicUrl: 'https://api.example.com',
        },
        warmUp: [],
        kinds: mailKinds,
        onOutcome: () => undefined,
        sendMail: async (mail) => void outbox.push(mail),
      },
      id,
      Date.now() + 1_000,
    );
    const [mail] = outbox;
    if (!mail) throw new Error('No mail was sent');
    return mail;
  }

  it('is the club’s language in mails to a student who has not chosen a language', async () => {
    const { subject, html, text } = await mailed('student_reset_password', { studentId: student.id });
    expect(subject).to.match(/^Redefina sua senha em /);
    expect(html).to.contain('<html lang="pt-BR" dir="ltr">').and.to.contain('Escolher uma nova senha');
    expect(text).to.match(/^Olá, Stella Student,\n\nVocê tem uma hora para escolher/);
  });

  it('is the language that the student has chosen', async () => {
    const changed = await call('PATCH', '/v1/auth/session', { token: student.token, body: { language: 'ar' } });
    expect(changed.status).to.equal(200);
    expect(changed.body.data.language).to.equal('ar');
    expect((await call('GET', '/v1/auth/session', { token: student.token })).body.data.language).to.equal('ar');
    const { html, text } = await mailed('student_reset_password', { studentId: student.id });
    expect(html).to.contain('<html lang="ar" dir="rtl">').and.to.contain('text-align:start');
    expect(text).to.match(/^مرحبًا \u2068Stella Student\u2069،\n/);
  });

  it('is not in the record of a student who has chosen no language, and is erased with the student', async () => {
    expect((await call('GET', '/v1/auth/session', { token: student.token })).body.data).to.not.have.property(
      'language',
    );
    await call('PATCH', '/v1/auth/session', { token: student.token, body: { language: 'de' } });
    await removeStudent(deps, club.id, student.id, new Date());
    const rows = await deps.db.source.query<object[]>(`SELECT language FROM students WHERE id = $1`, [student.id]);
    expect(rows).to.deep.equal([{ language: null }]);
  });

  it('is the language that an administrator has chosen, or else the club’s', async () => {
    const { owner } = club;
    const recipient = { administratorId: owner.id };
    expect((await mailed('media_expiring', recipient)).subject).to.match(/^Os vídeos de /);
    const changed = await call('PATCH', '/v1/me', { token: owner.token, body: { language: 'de' } });
    expect(changed.body.data.language).to.equal('de');
    expect((await mailed('media_expiring', recipient)).subject).to.match(/^Videos von .* werden in 7 Tagen gelöscht$/);
  });

  it('is chosen at a student’s sign-up by Accept-Language, or is the club’s if none fits', async () => {
    for (const [header, subject] of [
      ['es-MX, en;q=0.5', /^Confirma tu correo en /],
      ['fr-FR', /^Confirme seu e-mail em /], // the club's
    ] as const) {
      const email = `${newId()}@example.com`;
      const answer = await call('POST', `/v1/clubs/${club.id}/classroom/sign-up`, {
        body: { name: 'Eva', email, password: 'correct horse battery' },
        headers: { 'accept-language': header },
      });
      expect(answer.status).to.equal(202);
      const [{ id }] = await deps.db.source.query<[{ id: Id }]>(`SELECT id FROM students WHERE email = $1`, [email]);
      expect((await sentTo(id)).subject).to.match(subject);
    }
  });

  it('is chosen at the sign-up of an administrator too', async () => {
    const email = `${newId()}@example.com`;
    await call('POST', '/v1/auth/admin/sign-up', {
      body: { name: 'Eva', email, password: 'correct horse battery', organization: { name: 'Porto' } },
      headers: { 'accept-language': 'pt-PT,pt;q=0.8' },
    });
    const [{ id }] = await deps.db.source.query<[{ id: Id }]>(`SELECT id FROM administrators WHERE email = $1`, [
      email,
    ]);
    expect((await sentTo(id)).subject).to.equal('Confirme seu e-mail');
  });

  it('causes 422 with the list of offered languages if it is not offered', async () => {
    for (const answer of [
      await call('PATCH', '/v1/auth/session', { token: student.token, body: { language: 'fr' } }),
      await call('PATCH', '/v1/me', { token: club.owner.token, body: { language: 'fr' } }),
    ]) {
      expectError(answer, 'invalid_request');
      expect(answer.body.error.message).to.equal('language "fr" is not offered. Send one of en, pt-BR, es, de, ar.');
    }
    const answer = await callsOf(club)('PATCH', '', { language: 'xx' });
    expectError(answer, 'invalid_request');
    expect(answer.body.error.message).to.match(/en, pt, es, fr, de, it, pt-BR.* ar/);
    expect((await callsOf(club)('GET', '')).body.data.language).to.equal('pt-BR');
  });

  it('may be any offered language for a club', async () => {
    for (const language of ['ar', 'pt', 'es']) {
      expect((await callsOf(club)('PATCH', '', { language })).body.data.language).to.equal(language);
    }
  });

  it('is the student’s language on the page of an unsubscribe link', async () => {
    const page = async () => {
      const token = unsubscribeToken(deps.vault, { kind: 'campaigns', studentId: student.id });
      const at = `/v1/clubs/${club.id}/classroom/mail/unsubscribe/${token}`;
      return (await call('GET', at, { headers: { accept: 'text/html' } })).text;
    };
    expect(await page())
      .to.contain('<html lang="pt-BR" dir="ltr">')
      .and.to.contain('Cancelar inscrição?');
    await call('PATCH', '/v1/auth/session', { token: student.token, body: { language: 'ar' } });
    expect(await page())
      .to.contain('<html lang="ar" dir="rtl">')
      .and.to.contain('إلغاء الاشتراك؟');
  });

  it('is the browser’s language on a page if the reader is unknown', async () => {
    const page = async (header: string) =>
      call('GET', `/v1/clubs/${club.id}/classroom/mail/unsubscribe/x`, {
        headers: { accept: 'text/html', 'accept-language': header },
      });
    const answer = await page('de-AT,en;q=0.5');
    expect(answer.text).to.contain('<html lang="de" dir="ltr">').and.to.contain('Dieser Link funktioniert nicht');
    expect(answer.headers.get('vary')).to.contain('Accept-Language');
    expect((await page('fr')).text, 'French is not offered, so the page has the language of the club').to.contain(
      '<html lang="pt-BR"',
    );
    const certificate = await call('GET', '/certificates/AAAA-AAAA-AAAA', {
      headers: { accept: 'text/html', 'accept-language': 'ar' },
    });
    expect(certificate.text).to.contain('لا توجد شهادة بهذا الرمز');
  });

  it('is the browser’s language in a refusal, or else the club’s', async () => {
    await buildPlan(club.id, 'starter');
    await deps.db.source.query(
      `INSERT INTO club_student_counts (club_id, students) VALUES ($1, 1000000)
      ON CONFLICT (club_id) DO UPDATE SET students = excluded.students`,
      [club.id],
    );
    const refusal = async (header: string) => {
      const answer = await call('POST', `/v1/clubs/${club.id}/classroom/sign-up`, {
        body: { name: 'Eva', email: `${newId()}@example.com`, password: 'correct horse battery' },
        headers: { 'accept-language': header },
      });
      expectError(answer, 'limit_reached');
      return answer.body.error.message;
    };
    expect(await refusal('de')).to.equal(
      'Dieser Club kann zurzeit niemanden mehr aufnehmen. Bitte wende dich an den Club.',
    );
    expect(await refusal('*')).to.equal('Este clube não pode receber mais estudantes no momento. Fale com o clube.');
  });

  it('cannot be changed without a session (401)', async () => {
    expectError(await call('PATCH', '/v1/me', { body: { language: 'de' } }), 'unauthenticated');
    const { token } = await buildAdministrator();
    expectError(await call('PATCH', '/v1/auth/session', { token, body: { language: 'de' } }), 'unauthenticated');
  });
});
