/** Tests how people add, rename and remove passkeys, and sign in with them alone (PKY-1 to PKY-6). */
import { expect } from 'chai';
import type { RecordOf } from '../../contract/contract.ts';
import { newId } from '../../platform/core/ids.ts';
import {
  buildAdministrator,
  buildClub,
  buildStudent,
  password,
  type TestAdministrator,
} from '../toolkit/builders/clubs.ts';
import { call, clock, expectError, type Answer } from '../toolkit/drive/api.ts';
import {
  addPasskey,
  ofAdministrators,
  ofStudentsOf,
  sendAssertion,
  sendNewPasskey,
  signInOptions,
  signInWithPasskey,
  type PasskeyPaths,
} from '../toolkit/drive/passkeys.ts';
import { SoftwareAuthenticator } from '../toolkit/fakes/authenticator.ts';
import { testDatabase } from '../toolkit/stack/database.ts';

const query = async <Row>(text: string, values: unknown[]): Promise<Row[]> =>
  (await testDatabase()).query(text, values);
const mailsTo = async (column: 'administrator_id' | 'student_id', id: string) =>
  (
    await query<{ template: string }>(
      `SELECT template FROM transactional_mails WHERE ${column} = $1 ORDER BY created_at, id`,
      [id],
    )
  ).map(({ template }) => template);

const newAuthenticator = () => new SoftwareAuthenticator(ofAdministrators.origin);

function expectChallenge({ status, body }: Answer): RecordOf<'SecondFactorChallenge'> {
  expect(status).to.equal(403);
  expect(body.error.code).to.equal('second_factor_required');
  return body.error.challenge;
}

interface Person {
  id: string;
  email: string;
  token: string;
  paths: PasskeyPaths;
  column: 'administrator_id' | 'student_id';
}

async function anAdministrator(): Promise<Person> {
  return { ...(await buildAdministrator()), paths: ofAdministrators, column: 'administrator_id' };
}

async function aStudent(): Promise<Person> {
  const club = await buildClub();
  return { ...(await buildStudent(club.id)), paths: await ofStudentsOf(club.id), column: 'student_id' };
}

for (const [kind, build] of [
  ['an administrator', anAdministrator],
  ['a student', aStudent],
] as const) {
  describe(`passkeys of ${kind}`, () => {
    let person: Person;
    beforeEach(async () => {
      person = await build();
    });
    const list = async () => {
      const { data } = (await call('GET', person.paths.list, { token: person.token })).body;
      return data.passkeys ?? data.factors;
    };

    for (const keyKind of ['P-256', 'Ed25519', 'RSA'] as const)
      it(`sign in with a key of the kind ${keyKind}`, async () => {
        const authenticator = await addPasskey(person.paths, person.token, { kind: keyKind });
        const answer = await signInWithPasskey(person.paths, authenticator);
        expect(answer.status).to.equal(200);
        const { token } = answer.body.data;
        expect((await call('GET', person.paths.list, { token })).status).to.equal(200);
      });

    it('are listed with the time of their last use, and without keys', async () => {
      const authenticator = await addPasskey(person.paths, person.token);
      const [before] = await list();
      const kindOrSynced = person.column === 'student_id' ? ['name', 'synced'] : ['kind', 'name'];
      expect(Object.keys(before)).to.deep.equal(['id', ...kindOrSynced, 'created_at']);
      expect(before).to.include({ name: 'Laptop' });
      await signInWithPasskey(person.paths, authenticator);
      expect((await list())[0]).to.have.property('last_used_at');
    });

    it('keep only known transports', async () => {
      await addPasskey(person.paths, person.token);
      const rows = await query(
        `SELECT transports FROM passkeys LEFT JOIN second_factors factor ON factor.id = factor_id WHERE ${person.column} = $1`,
        [person.id],
      );
      expect(rows).to.deep.equal([{ transports: ['hybrid', 'internal'] }]);
    });

    it('cause a mail after an addition, and after a removal', async () => {
      await addPasskey(person.paths, person.token);
      const [{ id }] = await list();
      await call('DELETE', `${person.paths.list}/${id}`, { token: person.token });
      const about = person.column === 'student_id' ? 'student_passkey' : 'administrator_factor';
      expect(await mailsTo(person.column, person.id)).to.deep.equal([`${about}_added`, `${about}_removed`]);
    });

    it('are renamed, but not by another person', async () => {
      await addPasskey(person.paths, person.token);
      const [{ id }] = await list();
      const rename = (token: string, name: string) =>
        call('PATCH', `${person.paths.list}/${id}`, { token, body: { name } });
      expect((await rename(person.token, '  Key  in the drawer ')).body.data.name).to.equal('Key in the drawer');
      expectError(await rename(person.token, '\u{200B}'), 'invalid_request');
      expectError(await rename((await build()).token, 'Mine'), 'not_found');
    });

    it('open no session after their removal', async () => {
      const authenticator = await addPasskey(person.paths, person.token);
      const other = await addPasskey(person.paths, person.token);
      const [{ id }] = await list();
      const options = await signInOptions(person.paths);
      expectError(await call('DELETE', `${person.paths.list}/${id}`, { token: (await build()).token }), 'not_found');
      expect((await call('DELETE', `${person.paths.list}/${id}`, { token: person.token })).status).to.equal(204);
      expectError(await sendAssertion(person.paths, authenticator.get(options)), 'invalid_credentials');
      expect((await signInWithPasskey(person.paths, other)).status).to.equal(200);
    });

    it('are at most 10 for a person', async () => {
      for (let count = 0; count < 10; count++) await addPasskey(person.paths, person.token);
      const answer = await sendNewPasskey(person.paths, person.token, new SoftwareAuthenticator(person.paths.origin));
      expectError(answer, person.column === 'student_id' ? 'passkey_limit_reached' : 'factor_limit_reached');
    });

    it('are at most 10 even if they are added at the same time', async () => {
      for (let count = 0; count < 8; count++) await addPasskey(person.paths, person.token);
      const answers = await Promise.all(
        Array.from({ length: 6 }, () =>
          sendNewPasskey(person.paths, person.token, new SoftwareAuthenticator(person.paths.origin)),
        ),
      );
      expect(answers.map(({ status }) => status)).to.have.members([201, 201, 409, 409, 409, 409]);
    });

    it('name the existing passkeys in the options, so that an authenticator creates no second one', async () => {
      const { credentialId } = await addPasskey(person.paths, person.token);
      const { body } = await call('POST', `${person.paths.passkeys}/options`, { token: person.token });
      expect(body.data.excludeCredentials).to.deep.equal([
        { id: credentialId.toString('base64url'), type: 'public-key', transports: ['hybrid', 'internal'] },
      ]);
    });

    it('open one session if 20 calls send one answer at the same time', async () => {
      const authenticator = await addPasskey(person.paths, person.token);
      const assertion = authenticator.get(await signInOptions(person.paths));
      const answers = await Promise.all(Array.from({ length: 20 }, () => sendAssertion(person.paths, assertion)));
      const statuses = answers.map(({ status }) => status);
      expect(statuses.filter((status) => status === 200)).to.have.length(1);
      expect(statuses.filter((status) => status === 401)).to.have.length(19);
    });

    it('refuse a repeated answer also after the sign-in', async () => {
      const authenticator = await addPasskey(person.paths, person.token, { counts: true });
      const assertion = authenticator.get(await signInOptions(person.paths));
      expect((await sendAssertion(person.paths, assertion)).status).to.equal(200);
      expectError(await sendAssertion(person.paths, assertion), 'invalid_credentials');
    });

    it('refuse an answer after 5 minutes', async () => {
      const authenticator = await addPasskey(person.paths, person.token);
      const options = await signInOptions(person.paths);
      clock.advance(5 * 60_000 - 5_000);
      expect((await sendAssertion(person.paths, authenticator.get(options))).status).to.equal(200);
      const later = await signInOptions(person.paths);
      clock.advance(5 * 60_000);
      expectError(await sendAssertion(person.paths, authenticator.get(later)), 'invalid_credentials');
    });

    it('refuse a counter that does not grow, as of a copied authenticator', async () => {
      const authenticator = await addPasskey(person.paths, person.token, { counts: true });
      expect((await signInWithPasskey(person.paths, authenticator, { counter: 10 })).status).to.equal(200);
      for (const counter of [10, 9, 0])
        expectError(await signInWithPasskey(person.paths, authenticator, { counter }), 'invalid_credentials');
      expect((await signInWithPasskey(person.paths, authenticator, { counter: 11 })).status).to.equal(200);
    });

    it('are not accepted from a person who has signed in to another account', async () => {
      const other = await build();
      const options = await call('POST', `${other.paths.passkeys}/options`, { token: other.token });
      const passkey = new SoftwareAuthenticator(person.paths.origin).create(options.body.data);
      const answer = await call('POST', person.paths.passkeys, {
        token: person.token,
        body: { name: 'Mine', passkey },
      });
      expectError(answer, 'invalid_request');
    });

    it('are not accepted twice, nor with the credential id of another person', async () => {
      const credentialId = Buffer.alloc(32, newId());
      await addPasskey(person.paths, person.token, { credentialId });
      const again = new SoftwareAuthenticator(person.paths.origin, { credentialId });
      expectError(await sendNewPasskey(person.paths, person.token, again), 'invalid_request');
      const samePlace = { ...(await build()), paths: person.paths };
      if (person.column === 'student_id') return;
      expectError(await sendNewPasskey(samePlace.paths, samePlace.token, again), 'invalid_request');
    });
  });
}

describe('passkeys of administrators', () => {
  it('count as both factors, and open a session as a passkey', async () => {
    const { id, token } = await buildAdministrator();
    const authenticator = await addPasskey(ofAdministrators, token);
    await signInWithPasskey(ofAdministrators, authenticator);
    const rows = await query(
      `SELECT opened_by, second_factor_at IS NOT NULL AS "hasSecondFactor" FROM administrator_sessions
        WHERE administrator_id = $1 AND opened_by = 'passkey'`,
      [id],
    );
    expect(rows).to.deep.equal([{ opened_by: 'passkey', hasSecondFactor: true }]);
  });

  it('are added only with a fresh factor', async () => {
    const { token } = await buildAdministrator();
    await addPasskey(ofAdministrators, token);
    clock.advance(11 * 60_000);
    const answer = await sendNewPasskey(ofAdministrators, token, new SoftwareAuthenticator(ofAdministrators.origin));
    expectError(answer, 'fresh_factor_required');
  });

  it('come with ten recovery codes if they are the first factor', async () => {
    const { token } = await buildAdministrator();
    const send = () => sendNewPasskey(ofAdministrators, token, new SoftwareAuthenticator(ofAdministrators.origin));
    expect((await send()).body.data.recovery_codes).to.have.length(10);
    expect((await send()).body.data).not.to.have.property('recovery_codes');
  });

  it('end the need of a second factor after the removal of the last passkey', async () => {
    const { token, email } = await buildAdministrator();
    await addPasskey(ofAdministrators, token);
    const signIn = () => call('POST', '/v1/auth/admin/sign-in', { body: { email, password } });
    expectChallenge(await signIn());
    const [{ id }] = (await call('GET', ofAdministrators.list, { token })).body.data.factors;
    await call('DELETE', `${ofAdministrators.list}/${id}`, { token });
    expect((await signIn()).status).to.equal(200);
  });
});

describe('the last passkey of an administrator without a password', () => {
  it('is not removed, unless the account has an identity', async () => {
    const { id: administratorId, token } = await buildAdministrator();
    const authenticator = await addPasskey(ofAdministrators, token);
    const [{ id }] = (await call('GET', ofAdministrators.list, { token })).body.data.factors;
    await query(`UPDATE administrators SET password_hash = NULL WHERE id = $1`, [administratorId]);
    const remove = () => call('DELETE', `${ofAdministrators.list}/${id}`, { token });
    expectError(await remove(), 'last_sign_in_method');
    expect((await signInWithPasskey(ofAdministrators, authenticator)).status).to.equal(200);
    await query(
      `INSERT INTO administrator_identities (id, administrator_id, provider_id, subject, created_at, last_used_at)
       VALUES ($1, $2, $1, 'any', now(), now())`,
      [newId(), administratorId],
    );
    expect((await remove()).status).to.equal(204);
  });
});

describe('a passkey as a second factor', () => {
  let person: TestAdministrator;
  let authenticator: SoftwareAuthenticator;
  beforeEach(async () => {
    person = await buildAdministrator();
    authenticator = await addPasskey(ofAdministrators, person.token);
  });
  const challenge = async () => {
    const { email } = person;
    return expectChallenge(await call('POST', '/v1/auth/admin/sign-in', { body: { email, password } }));
  };
  const optionsOf = async (token: string): Promise<RecordOf<'PasskeyRequestOptions'>> =>
    (await call('POST', '/v1/auth/admin/second-factor/passkey-options', { body: { challenge: token } })).body.data;
  const finish = (token: string, passkey: RecordOf<'PasskeyAssertion'>) =>
    call('POST', '/v1/auth/admin/second-factor', { body: { challenge: token, passkey } });

  it('finishes a sign-in, once', async () => {
    const { token, methods } = await challenge();
    expect(methods).to.deep.equal(['recovery_code', 'passkey']);
    const options = await optionsOf(token);
    expect(options.allowCredentials.map(({ id }) => id)).to.deep.equal([
      authenticator.credentialId.toString('base64url'),
    ]);
    const assertion = authenticator.get(options, { userHandle: undefined });
    const answers = await Promise.all(Array.from({ length: 5 }, () => finish(token, assertion)));
    expect(answers.map(({ status }) => status)).to.have.members([200, 401, 401, 401, 401]);
  });

  it('is not accepted for another challenge of the same account', async () => {
    const [first, second] = [await challenge(), await challenge()];
    const assertion = authenticator.get(await optionsOf(first.token));
    expectError(await finish(second.token, assertion), 'invalid_credentials');
    expect((await finish(first.token, assertion)).status).to.equal(200);
  });

  it('is not accepted from another account', async () => {
    const { token } = await challenge();
    const stranger = await addPasskey(ofAdministrators, (await buildAdministrator()).token);
    expectError(await finish(token, stranger.get(await optionsOf(token))), 'invalid_credentials');
  });

  it('is not accepted if its answer is for a sign-in without a password', async () => {
    const { token } = await challenge();
    const assertion = authenticator.get(await signInOptions(ofAdministrators));
    expectError(await finish(token, assertion), 'invalid_credentials');
  });

  it('has no options for a challenge that is unknown or used', async () => {
    const ask = (token: string) =>
      call('POST', '/v1/auth/admin/second-factor/passkey-options', { body: { challenge: token } });
    expectError(await ask('unknown'), 'invalid_credentials');
    const { token } = await challenge();
    expect((await finish(token, authenticator.get(await optionsOf(token)))).status).to.equal(200);
    expectError(await ask(token), 'invalid_credentials');
  });

  it('proves the person in the session that asked, once, and in no other session', async () => {
    const options = async () => (await call('POST', '/v1/me/proof/passkey-options', { token: person.token })).body.data;
    const prove = (token: string, passkey: RecordOf<'PasskeyAssertion'>) =>
      call('POST', '/v1/me/proof', { token, body: { passkey } });
    const other = (await signInWithPasskey(ofAdministrators, authenticator)).body.data.token;
    clock.advance(11 * 60_000);
    const assertion = authenticator.get(await options());
    expectError(await prove(other, assertion), 'invalid_credentials');
    expect((await prove(person.token, assertion)).body.data.with_second_factor).to.equal(true);
    expectError(await prove(person.token, assertion), 'invalid_credentials');
    expect((await sendNewPasskey(ofAdministrators, person.token, newAuthenticator())).status).to.equal(201);
    expectError(await sendNewPasskey(ofAdministrators, other, newAuthenticator()), 'fresh_factor_required');
  });
});

describe('passkeys of students', () => {
  it('end with the address of the account, also after the new address was confirmed', async () => {
    const club = await buildClub();
    const paths = await ofStudentsOf(club.id);
    const student = await buildStudent(club.id);
    const authenticator = await addPasskey(paths, student.token);
    const body = { email: `${newId()}@example.com` };
    const path = `/v1/clubs/${club.id}/students/${student.id}`;
    expect((await call('PATCH', path, { token: club.owner.token, body })).status).to.equal(200);
    await query(`UPDATE students SET verified_at = now() WHERE id = $1`, [student.id]);
    expectError(await signInWithPasskey(paths, authenticator), 'invalid_credentials');
  });

  it('are not accepted in another club, nor as an administrator', async () => {
    const [club, other] = [await buildClub(), await buildClub()];
    const [paths, elsewhere] = [await ofStudentsOf(club.id), await ofStudentsOf(other.id)];
    const authenticator = await addPasskey(paths, (await buildStudent(club.id)).token);
    const assertion = authenticator.get(await signInOptions(elsewhere), { origin: elsewhere.origin });
    expectError(await sendAssertion(elsewhere, assertion), 'invalid_credentials');
    const asAdministrator = authenticator.get(await signInOptions(ofAdministrators), {
      origin: ofAdministrators.origin,
    });
    expectError(await sendAssertion(ofAdministrators, asAdministrator), 'invalid_credentials');
    expect((await signInWithPasskey(paths, authenticator)).status).to.equal(200);
  });

  it('may have the same credential id in two clubs', async () => {
    const [club, other] = [await buildClub(), await buildClub()];
    const credentialId = Buffer.alloc(16, newId());
    const first = await addPasskey(await ofStudentsOf(club.id), (await buildStudent(club.id)).token, { credentialId });
    await addPasskey(await ofStudentsOf(other.id), (await buildStudent(other.id)).token, { credentialId });
    expect((await signInWithPasskey(await ofStudentsOf(club.id), first)).status).to.equal(200);
  });

  it('are accepted only from the page of the club, even if the domain serves all clubs', async () => {
    const [club, other] = [await buildClub(), await buildClub()];
    const paths = await ofStudentsOf(club.id);
    const authenticator = await addPasskey(paths, (await buildStudent(club.id)).token);
    const { origin } = await ofStudentsOf(other.id);
    expectError(await signInWithPasskey(paths, authenticator, { origin }), 'invalid_credentials');
  });

  it('sign in a student who has no password', async () => {
    const club = await buildClub();
    const { id, token } = await buildStudent(club.id);
    await query(`UPDATE students SET password_hash = NULL WHERE id = $1`, [id]);
    const paths = await ofStudentsOf(club.id);
    const answer = await signInWithPasskey(paths, await addPasskey(paths, token));
    expect(answer.body.data.student).to.include({ id, has_password: false });
  });

  it('are removed with the student, and open no session afterwards', async () => {
    const club = await buildClub();
    const { id, token } = await buildStudent(club.id);
    const paths = await ofStudentsOf(club.id);
    const authenticator = await addPasskey(paths, token);
    const options = await signInOptions(paths);
    await call('DELETE', `/v1/clubs/${club.id}/students/${id}`, { token: club.owner.token });
    expect(await query(`SELECT id FROM passkeys WHERE student_id = $1`, [id])).to.deep.equal([]);
    expectError(await sendAssertion(paths, authenticator.get(options)), 'invalid_credentials');
  });

  it('survive a new slug of the club, on the new page', async () => {
    const club = await buildClub();
    const paths = await ofStudentsOf(club.id);
    const authenticator = await addPasskey(paths, (await buildStudent(club.id)).token);
    await query(`UPDATE clubs SET slug = $2 WHERE id = $1`, [club.id, `new-${newId()}`]);
    const { origin } = await ofStudentsOf(club.id);
    expectError(await signInWithPasskey(paths, authenticator), 'invalid_credentials');
    expect((await signInWithPasskey(paths, authenticator, { origin })).status).to.equal(200);
  });
});
