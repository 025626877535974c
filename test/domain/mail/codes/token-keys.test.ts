import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { spendCode, tryCode } from '../../../../domain/mail/codes/codes.ts';
import { spendToken, tokenText } from '../../../../domain/mail/codes/one-time-tokens.ts';
import { requestInvitations, requestMail } from '../../../../domain/mail/transactional/requests.ts';
import { mailKinds } from '../../../../domain/contexts.ts';
import { sendTransactionalMail, type OutgoingMail } from '../../../../domain/mail/transactional/send.ts';
import { DomainError } from '../../../../platform/core/errors.ts';
import type { Id } from '../../../../platform/core/ids.ts';
import { Secret } from '../../../../platform/core/secret.ts';
import type { Database } from '../../../../platform/infra/postgres/database.ts';
import { sql } from '../../../../platform/infra/postgres/sql.ts';
import { createVault, type Vault } from '../../../../platform/infra/keys/vault.ts';
import { buildClub, buildStudent } from '../../../toolkit/builders/clubs.ts';
import { testDeps } from '../../../toolkit/stack/database.ts';

const [before, after] = [new Secret(randomBytes(32)), new Secret(randomBytes(32))];
/**
 * `first` knows only the old key, and `alone` only the new key. `openable` can also read values of the new key. `changed` seals with the
 * new key.
 */
const first = createVault(before);
const openable = createVault(before, { former: [after] });
const changed = createVault(after, { former: [before] });
const alone = createVault(after);
const minute = 60_000;

describe('the mail of a one-time token during a change of the master key', () => {
  let db: Database;
  let clubId: Id;
  let student: { id: Id; email: string };
  const start = Date.now();
  beforeEach(async () => {
    db = (await testDeps()).db;
    clubId = (await buildClub()).id;
    student = await buildStudent(clubId);
  });

  const ask = (vault: Vault, template: 'student_reset_password' | 'student_code') => {
    const request = { template, clubId, recipient: { studentId: student.id }, email: student.email };
    return db.transaction((tx) => requestMail(tx, vault, request, new Date(start)));
  };
  const mailOf = async () =>
    (await db.one<{ id: Id }>(sql`SELECT id FROM transactional_mails WHERE student_id = ${student.id}`))?.id ?? '';
  const attempt = async (vault: Vault, { at = 0, refused = false } = {}) => {
    let mailed: OutgoingMail | undefined;
    const step = await sendTransactionalMail(
      {
        db,
        vault,
        async sendMail(mail) {
          mailed = mail;
          if (refused) throw new Error('451');
        },
        links: {
          classroomUrl: 'https://{slug}.example',
          dashboardUrl: 'https://dashboard.example',
          publicUrl: 'https://api.example.com',
        },
        warmUp: [],
        kinds: mailKinds,
        onOutcome() {},
      },
      await mailOf(),
      start + at,
    );
    return {
      isSent: step.done,
      token: /token=([\w-]{43})/.exec(mailed?.text ?? '')?.[1],
      code: /\b\d{6}\b/.exec(mailed?.text ?? '')?.[0],
    };
  };
  const spend = (token: string | undefined) =>
    db
      .transaction((tx) =>
        spendToken(tx, ['student_reset_password', 'student_invitation'], token ?? '', new Date(start)),
      )
      .then(
        ({ studentId }) => studentId,
        (error: unknown) => (error instanceof DomainError ? error.code : error),
      );

  for (const [who, issuer, sender] of [
    ['issued before the change, and sent when the new key is current', first, changed],
    ['issued with the new key, and sent by a process whose current key is still the old key', changed, openable],
    ['issued and sent with the new key', changed, alone],
  ] as const)
    it(`contains the same valid token at each attempt, if the token is ${who}`, async () => {
      await ask(issuer, 'student_reset_password');
      const refused = await attempt(issuer, { refused: true });
      const { isSent, token } = await attempt(sender, { at: minute });
      expect([isSent, token]).to.deep.equal([true, refused.token]);
      expect(await spend(token)).to.equal(student.id);
      expect(await spend(token)).to.equal('token_gone');
    });

  it('contains the valid token even if an old release did not record the token’s key', async () => {
    await ask(first, 'student_reset_password');
    await db.run(sql`UPDATE one_time_tokens SET key_id = NULL WHERE student_id = ${student.id}`);
    const { token } = await attempt(changed);
    expect(await spend(token)).to.equal(student.id);
  });

  it('contains a new token if the old key no longer exists', async () => {
    const id = await ask(first, 'student_reset_password');
    const { token } = await attempt(alone);
    expect(token).to.equal(tokenText(alone, 'student_reset_password', id ?? ''));
    expect(await spend(tokenText(first, 'student_reset_password', id ?? ''))).to.equal('token_gone');
    expect(await spend(token)).to.equal(student.id);
  });

  it('is not sent after the token was spent', async () => {
    const id = await ask(first, 'student_reset_password');
    await spend(tokenText(first, 'student_reset_password', id ?? ''));
    expect(await attempt(alone)).to.deep.equal({ isSent: true, token: undefined, code: undefined });
  });

  it('records the key of each token of many invitations', async () => {
    const invited = [{ studentId: student.id, email: student.email }];
    await db.transaction((tx) => requestInvitations(tx, changed, clubId, invited, new Date(start)));
    const { token } = await attempt(openable);
    expect(await spend(token)).to.equal(student.id);
  });

  describe('with a code', () => {
    const tried = (codeId: Id, code: string) => ({ clubId, email: student.email, codeId, code });
    const enter = async (vault: Vault, codeId: Id, code = '') => {
      const found = await db.transaction((tx) => tryCode(tx, vault, tried(codeId, code), new Date(start)));
      return found?.studentId;
    };

    for (const [who, issuer, others] of [
      ['of the old key', first, [first, openable, changed]],
      ['of the new key', changed, [openable, changed, alone]],
    ] as const)
      it(`contains a code ${who}, and every process accepts the code`, async () => {
        const codeId = (await ask(issuer, 'student_code')) ?? '';
        const { code } = await attempt(openable);
        expect(code).to.equal(tokenText(issuer, 'student_code', codeId));
        for (const vault of others) expect(await enter(vault, codeId, code)).to.equal(student.id);
        const found = { studentId: student.id, id: codeId };
        expect(await db.transaction((tx) => spendCode(tx, changed, tried(codeId, code ?? ''), found))).to.equal(true);
        expect(await enter(changed, codeId, code)).to.equal(undefined);
      });

    it('contains the only valid code: a code made with another key is rejected', async () => {
      const codeId = (await ask(first, 'student_code')) ?? '';
      const other = tokenText(alone, 'student_code', codeId);
      expect(other).to.not.equal(tokenText(first, 'student_code', codeId));
      expect(await enter(changed, codeId, other)).to.equal(undefined);
    });

    it('contains a new code if the key of the old code is gone', async () => {
      const codeId = (await ask(first, 'student_code')) ?? '';
      expect(await enter(alone, codeId, tokenText(first, 'student_code', codeId))).to.equal(undefined);
      const { code } = await attempt(alone);
      expect(await enter(alone, codeId, code)).to.equal(student.id);
    });

    it('contains a code of the current key if an old release did not record the code’s key', async () => {
      const codeId = (await ask(first, 'student_code')) ?? '';
      await db.run(sql`UPDATE one_time_tokens SET key_id = NULL WHERE id = ${codeId}`);
      const { code } = await attempt(first);
      expect(await enter(openable, codeId, code)).to.equal(student.id);
    });
  });
});
