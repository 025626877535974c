/** Tests messages to a refused student in the student's language (DEC-188). */
import { expect } from 'chai';
import type { OfferedLanguage } from '../../domain/language/languages.ts';
import { wordingIn } from '../../domain/language/wording.ts';
import { newId } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildClub, buildStudent } from '../toolkit/builders/clubs.ts';
import { buildSpace } from '../toolkit/builders/community.ts';
import { call, expectError } from '../toolkit/drive/api.ts';
import { openAskingClassroom } from '../toolkit/drive/asking.ts';
import { callsOf } from '../toolkit/drive/club-calls.ts';
import { communityOf } from '../toolkit/drive/community.ts';
import { testDatabase } from '../toolkit/stack/database.ts';

const choose = async (token: string, language: OfferedLanguage) => {
  expect((await call('PATCH', '/v1/auth/session', { token, body: { language } })).status).to.equal(200);
};

describe('a refusal that a student reads', () => {
  it('uses the student’s language for the daily limit, with Retry-After and the code', async () => {
    const classroom = await openAskingClassroom({ dailyLimit: 1 });
    await classroom.ask();
    await eachCase(
      [
        ['en', 'This agent takes 1 question in 24 hours from each student.'],
        ['pt-BR', 'Este assistente aceita 1 pergunta de cada estudante em 24 horas.'],
        ['es', 'Este asistente acepta 1 pregunta de cada estudiante en 24 horas.'],
        ['de', 'Dieser Assistent nimmt von jeder Person 1 Frage in 24 Stunden an.'],
        ['ar', 'يقبل هذا المساعد من كل طالب سؤالًا واحدًا خلال 24 ساعة.'],
      ] as const,
      async ([language, message]) => {
        await choose(classroom.student.token, language);
        const answer = await classroom.refused({});
        expectError(answer, 'daily_limit_reached');
        expect(answer.body.error.message).to.equal(message);
        expect(Number(answer.headers.get('retry-after'))).to.be.within(86_000, 86_400);
      },
    );
  });

  it('uses the student’s language for the club’s budget', async () => {
    const classroom = await openAskingClassroom();
    const source = await testDatabase();
    await source.query(`UPDATE clubs SET ai_monthly_limit = 0 WHERE id = $1`, [classroom.club.id]);
    await choose(classroom.student.token, 'de');
    const answer = await classroom.refused({});
    expectError(answer, 'club_budget_exhausted');
    expect(answer.body.error.message).to.match(/^Das KI-Budget des Clubs für diesen Monat ist aufgebraucht\./);
  });

  it('uses the club’s language if the student has chosen no language', async () => {
    const club = await buildClub({ language: 'es' });
    const student = await buildStudent(club.id);
    const space = await buildSpace(club.id);
    const { token } = student;
    const posted = await call('POST', `/v1/clubs/${club.id}/classroom/community/spaces/${space.id}/posts`, {
      token,
      body: { id: newId(), body: 'Hi' },
    });
    expectError(posted, 'not_entitled');
    expect(posted.body.error.message).to.equal('Únete primero al espacio.');
  });

  it('uses the student’s language for a missing record', async () => {
    const club = await buildClub();
    const student = await buildStudent(club.id);
    const read = async () => (await communityOf({ clubId: club.id }, student).read(newId())).body.error;
    expect(await read()).to.deep.equal({ code: 'not_found', message: 'There is no such space in this club.' });
    await choose(student.token, 'pt-BR');
    expect(await read()).to.deep.equal({
      code: 'not_found',
      message: 'Isto não está mais aqui, ou você não pode vê-lo.',
    });
  });

  it('uses the browser’s language at a sign-in, even if the club is unknown', async () => {
    const club = await buildClub({ language: 'ar' });
    const signIn = async (club_id: string, header: string) =>
      (
        await call('POST', '/v1/auth/sign-in', {
          body: { club_id, email: `${newId()}@example.com`, password: 'correct horse battery' },
          headers: { 'accept-language': header },
        })
      ).body.error;
    for (const id of [club.id, newId()]) {
      expect(await signIn(id, 'de-DE,de;q=0.9')).to.deep.equal({
        code: 'invalid_credentials',
        message: 'Die E-Mail-Adresse oder das Passwort ist falsch.',
      });
      expect((await signIn(id, 'fr')).message).to.equal('The e-mail or the password is wrong.');
    }
  });

  it('states the allowed length of a password in the browser’s or the club’s language', async () => {
    const club = await buildClub({ language: 'pt-BR' });
    const signUp = async (header: string) => {
      const answer = await call('POST', `/v1/clubs/${club.id}/classroom/sign-up`, {
        body: { name: 'Eva', email: `${newId()}@example.com`, password: 'knotsknot' },
        headers: { 'accept-language': header },
      });
      expectError(answer, 'weak_password');
      return answer.body.error.message;
    };
    expect(await signUp('de')).to.equal('Das Passwort hat 9 Zeichen; es muss mindestens 10 haben.');
    expect(await signUp('fr')).to.equal('A senha tem 9 caracteres; ela precisa ter pelo menos 10.');
  });

  it('states in the student’s language when to try again after too many requests', async () => {
    const club = await buildClub();
    const student = await buildStudent(club.id);
    const space = await buildSpace(club.id);
    await choose(student.token, 'es');
    const post = () =>
      call('POST', `/v1/clubs/${club.id}/classroom/community/spaces/${space.id}/posts`, {
        token: student.token,
        body: { id: newId(), body: 'Hi' },
      });
    let answer = await post();
    for (let count = 0; answer.status !== 429 && count < 60; count++) answer = await post();
    expectError(answer, 'rate_limited');
    const minutes = Math.ceil(Number(answer.headers.get('retry-after')) / 60);
    expect(minutes).to.be.within(1, 120);
    expect(answer.body.error.message).to.equal(
      `Lo has hecho demasiadas veces. Inténtalo de nuevo dentro de ${minutes} minuto${minutes === 1 ? '' : 's'}.`,
    );
  });
});

describe('an HTML page with a refusal', () => {
  const see = (path: string, language?: string) =>
    call('GET', path, {
      headers: { accept: 'text/html', ...(language !== undefined && { 'accept-language': language }) },
    });

  it('uses the browser’s language, or else the club’s', async () => {
    const club = await buildClub({ language: 'pt-BR' });
    const at = `/v1/clubs/${club.id}/classroom/mail/unsubscribe/nothing`;
    for (const [language, lang, dir] of [
      ['ar', 'ar', 'rtl'],
      ['fr', 'pt-BR', 'ltr'],
    ] as const) {
      const answer = await see(at, language);
      expect(answer.status).to.equal(404);
      expect(answer.text)
        .to.contain(`<html lang="${lang}" dir="${dir}">`)
        .and.to.contain(wordingIn(lang).say('unsubscribe.broken.title'));
    }
  });

  it('uses the browser’s language, or English, if the page belongs to no club', async () => {
    for (const path of ['/certificates/nothing', '/mail/previews/nothing']) {
      expect((await see(path, 'de-CH')).text).to.contain('<html lang="de" dir="ltr">');
      expect((await see(path, 'fr')).text).to.contain('<html lang="en" dir="ltr">');
    }
  });

  it('asks the reader to wait after a 429, and does not say that the link is invalid', async () => {
    const club = await buildClub();
    const path = `/v1/clubs/${club.id}/classroom/mail/unsubscribe/nothing`;
    const post = () =>
      call('POST', path, { ip: '203.0.113.9', headers: { accept: 'text/html', 'accept-language': 'es' } });
    let answer = await post();
    for (let count = 0; answer.status !== 429 && count < 200; count++) answer = await post();
    expect(answer.status).to.equal(429);
    expect(Number(answer.headers.get('retry-after'))).to.be.greaterThan(0);
    expect(answer.text).to.contain('<html lang="es" dir="ltr">').and.to.contain('Ahora no es posible');
  });
});

describe('a refusal that an administrator reads', () => {
  it('uses English, whatever the language of the browser', async () => {
    const club = await buildClub({ language: 'de' });
    const { owner } = club;
    await call('PATCH', '/v1/me', { token: owner.token, body: { language: 'de' } });
    const answer = await callsOf(club)('GET', `/community/spaces/${newId()}`);
    expect(answer.body.error.message).to.equal('There is no such space in this club.');
    const signIn = await call('POST', '/v1/auth/admin/sign-in', {
      body: { email: `${newId()}@example.com`, password: 'correct horse battery' },
      headers: { 'accept-language': 'de' },
    });
    expect(signIn.body.error.message).to.equal('The e-mail or the password is wrong.');
  });
});
