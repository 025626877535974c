/** Tests the profile of administrators, their pictures and telephone numbers, and what students change of their own account (SES-1 to SES-6). */
import { expect } from 'chai';
import sharp from 'sharp';
import { eraseLeftovers } from '../../domain/media/erasure/leftovers.ts';
import { phoneCodeText, requestPhoneCode, verifyPhone } from '../../domain/identity/phones/codes.ts';
import { phoneCodeRules } from '../../domain/identity/phones/codes.policy.ts';
import { PhoneCode } from '../../entities/identity/phone-code.ts';
import type { Id } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { factTypes } from '../toolkit/assert/facts.ts';
import { buildAdministrator, buildClub, buildStudent, type TestAdministrator } from '../toolkit/builders/clubs.ts';
import { buildPhoneCode, someNumber } from '../toolkit/builders/phone-codes.ts';
import { call, callAt, clock, expectError, testConfig } from '../toolkit/drive/api.ts';
import { mediaDeps } from '../toolkit/drive/media.ts';
import { rowCounts, testDatabase, testDeps } from '../toolkit/stack/database.ts';
import { startApi } from '../../api/server.ts';

const octets = { 'content-type': 'application/octet-stream' };
const picture = (width: number, height: number, background = 'teal') =>
  sharp({ create: { width, height, channels: 3, background } })
    .jpeg()
    .toBuffer();

describe('the own account of an administrator', () => {
  let me: TestAdministrator;
  beforeEach(async () => {
    me = await buildAdministrator();
  });
  const profile = async () => (await call('GET', '/v1/me', { token: me.token })).body.data;
  const change = (body: object) => call('PATCH', '/v1/me', { token: me.token, body });

  describe('PATCH /v1/me', () => {
    it('changes the given fields, and keeps the others', async () => {
      expect((await change({ name: '  Grace   Example ' })).body.data).to.include({ name: 'Grace Example' });
      expect((await change({ language: 'pt-BR' })).body.data).to.include({ name: 'Grace Example', language: 'pt-BR' });
      const { body } = await change({ phone: '+351 912 345 678' });
      expect(body.data).to.include({ name: 'Grace Example', language: 'pt-BR', phone: '+351912345678' });
      expect(await profile()).to.deep.equal(body.data);
    });

    it('refuses a body without a field', async () => {
      expectError(await change({}), 'invalid_request');
    });

    it('changes nothing if one of the fields is refused', async () => {
      const before = await profile();
      await eachCase(
        [{ name: 'www.example.com' }, { name: '\u202eevil' }, { language: 'xx' }, { phone: '912345678' }],
        async (wrong) =>
          expectError(
            await change({ name: 'Other', language: 'de', phone: '+351912345678', ...wrong }),
            'invalid_request',
          ),
      );
      expect(await profile()).to.deep.equal(before);
    });

    it('makes another number unverified, and keeps the same number verified', async () => {
      const { administrator, number, code } = await buildPhoneCode();
      me = administrator;
      const { db, vault } = await testDeps();
      await verifyPhone({ db, vault }, me.id, code, new Date());
      expect((await change({ phone: number })).body.data).to.include({ phone_verified: true });
      expect((await change({ phone: someNumber() })).body.data).to.include({ phone_verified: false });
      expect((await change({ phone: number })).body.data).to.include({ phone_verified: false });
    });
  });

  describe('DELETE /v1/me/phone', () => {
    it('removes the number and its verification, and may be repeated', async () => {
      const { administrator, code } = await buildPhoneCode();
      me = administrator;
      const { db, vault } = await testDeps();
      await verifyPhone({ db, vault }, me.id, code, new Date());
      for (let time = 1; time <= 2; time++) {
        expect((await call('DELETE', '/v1/me/phone', { token: me.token })).status).to.equal(204);
        expect(await profile())
          .to.include({ phone_verified: false })
          .and.not.have.property('phone');
      }
    });
  });

  describe('PUT /v1/me/avatar', () => {
    const putPicture = (raw: Uint8Array, token = me.token) =>
      call('PUT', '/v1/me/avatar', { token, raw, headers: octets });
    const keyOf = async (id: Id) => {
      const [row] = await (
        await testDatabase()
      ).query('SELECT avatar_key AS key FROM administrators WHERE id = $1', [id]);
      return row.key as string | null;
    };

    it('keeps a square of 512 pixels without metadata, behind a signed address', async () => {
      const { body, status } = await putPicture(await picture(1_200, 900));
      expect(status).to.equal(200);
      const answer = await fetch(body.data.avatar_url);
      const { width, height, exif } = await sharp(Buffer.from(await answer.arrayBuffer())).metadata();
      expect([answer.status, width, height, exif]).to.deep.equal([200, 512, 512, undefined]);
      const unsigned = await fetch(String(body.data.avatar_url).split('?')[0] ?? '');
      expect(unsigned.status).to.equal(403);
      expect(await profile()).to.have.property('avatar_url');
    });

    it('shows the picture in the answer to a sign-in', async () => {
      await putPicture(await picture(30, 30));
      const body = { email: me.email, password: 'correct horse battery' };
      const { data } = (await call('POST', '/v1/auth/admin/sign-in', { body })).body;
      expect(data.administrator).to.have.property('avatar_url');
    });

    it('erases the earlier picture after an hour, and an abandoned one', async () => {
      const deps = await mediaDeps();
      await putPicture(await picture(30, 30));
      const first = (await keyOf(me.id)) ?? '';
      await putPicture(await picture(40, 40));
      const second = (await keyOf(me.id)) ?? '';
      expect(await deps.storage.size(first)).to.be.greaterThan(0);
      await eraseLeftovers(deps, new Date(Date.now() + 2 * 3_600_000));
      expect(await deps.storage.size(first)).to.equal(undefined);
      expect(await deps.storage.size(second)).to.be.greaterThan(0);
      expect((await call('DELETE', '/v1/me/avatar', { token: me.token })).status).to.equal(204);
      expect(await profile()).to.not.have.property('avatar_url');
      await eraseLeftovers(deps, new Date(Date.now() + 4 * 3_600_000));
      expect(await deps.storage.size(second)).to.equal(undefined);
    });

    it('refuses files that are no complete image, and stores nothing', async () => {
      const image = await picture(300, 300);
      const before = await rowCounts();
      const bomb = await sharp({ create: { width: 8_000, height: 7_000, channels: 3, background: 'red' } })
        .png()
        .toBuffer();
      await eachCase(
        [
          Buffer.from('hello'),
          Buffer.from('%PDF-1.7'),
          Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'),
          image.subarray(0, 400),
          bomb,
        ],
        async (raw) => expectError(await putPicture(raw), 'invalid_image'),
      );
      expect(await rowCounts()).to.deep.equal(before);
      expect(await keyOf(me.id)).to.equal(null);
    });

    it('refuses another content type and more than 10 MB', async () => {
      const raw = await picture(30, 30);
      const headers = { 'content-type': 'image/jpeg' };
      expectError(await call('PUT', '/v1/me/avatar', { token: me.token, raw, headers }), 'unsupported_media_type');
      expectError(await putPicture(Buffer.alloc(10_485_761)), 'body_too_large');
    });

    it('lets an administrator set 20 pictures an hour, from any address', async () => {
      for (let count = 1; count <= 20; count++) expectError(await putPicture(Buffer.from('no image')), 'invalid_image');
      expectError(await putPicture(Buffer.from('no image')), 'rate_limited');
      const other = await buildAdministrator();
      expectError(await putPicture(Buffer.from('no image'), other.token), 'invalid_image');
    });
  });

  describe('POST /v1/me/phone/code', () => {
    const post = () => call('POST', '/v1/me/phone/code', { token: me.token });

    it('returns 501 if the environment sends no codes', async () => {
      const config = await testConfig({ PHONE_CODE_URL: '', PHONE_CODE_SECRET: '' });
      const api = await startApi(config, { readinessGraceMs: 0 });
      try {
        await change({ phone: someNumber() });
        const at = `http://127.0.0.1:${api.port}`;
        expectError(await callAt(at, 'POST', '/v1/me/phone/code', { token: me.token }), 'not_configured');
      } finally {
        await api.stop();
      }
    });

    it('returns 404 without a number', async () => {
      expectError(await post(), 'not_found');
    });

    it('requests a code once a minute', async () => {
      await change({ phone: someNumber() });
      const before = await rowCounts();
      expect((await post()).status).to.equal(202);
      const after = await rowCounts();
      expect(after['phone_codes']).to.equal((before['phone_codes'] ?? 0) + 1);
      expect(after['wakes']).to.equal((before['wakes'] ?? 0) + 1);
      const refused = await post();
      expectError(refused, 'rate_limited');
      expect(Number(refused.headers.get('retry-after'))).to.be.within(30, 60);
      clock.advance(61_000);
      expect((await post()).status).to.equal(202);
    });

    it('counts simultaneous requests one after the other', async () => {
      const { db, vault } = await testDeps();
      const deps = { db, vault, phoneCodes: { isConfigured: true, perDay: 1_000_000 } };
      await change({ phone: someNumber() });
      const now = new Date();
      const results = await Promise.allSettled(Array.from({ length: 5 }, () => requestPhoneCode(deps, me.id, now)));
      expect(results.filter(({ status }) => status === 'fulfilled')).to.have.length(1);
    });

    it('limits the codes to one number, whatever accounts request them', async () => {
      const { db, vault } = await testDeps();
      const deps = { db, vault, phoneCodes: { isConfigured: true, perDay: 1_000_000 } };
      const number = someNumber();
      const request = async () => {
        const { id } = await buildAdministrator();
        await db.source.query('UPDATE administrators SET phone = $2 WHERE id = $1', [id, number]);
        await requestPhoneCode(deps, id, new Date());
      };
      for (let count = 1; count <= phoneCodeRules.ofNumber; count++) await request();
      const refusal = await request().catch((error: { code: string }) => error.code);
      expect(refusal).to.equal('rate_limited');
    });

    it('limits the codes of the deployment', async () => {
      await buildPhoneCode();
      const { db, vault } = await testDeps();
      await change({ phone: someNumber() });
      const deps = { db, vault, phoneCodes: { isConfigured: true, perDay: 1 } };
      const refusal = await requestPhoneCode(deps, me.id, new Date()).catch((error: { code: string }) => error.code);
      expect(refusal).to.equal('rate_limited');
    });
  });

  describe('POST /v1/me/phone/verification', () => {
    const verify = (code: string) => call('POST', '/v1/me/phone/verification', { token: me.token, body: { code } });
    const wrong = (code: string) => String((Number(code) + 1) % 1_000_000).padStart(6, '0');

    it('verifies the number by the code, and a repetition gets the same answer', async () => {
      const { administrator, code } = await buildPhoneCode();
      me = administrator;
      expect((await verify(code)).body.data).to.include({ phone_verified: true });
      expect((await verify(code)).body.data).to.include({ phone_verified: true });
      expect(await profile()).to.include({ phone_verified: true });
    });

    it('accepts no code after five wrong codes, and gives one answer to each', async () => {
      const { administrator, code } = await buildPhoneCode();
      me = administrator;
      const messages = new Set<string>();
      for (let count = 1; count <= phoneCodeRules.tries; count++) {
        const answer = await verify(wrong(code));
        expectError(answer, 'token_gone');
        messages.add(answer.text);
      }
      messages.add((await verify(code)).text);
      expect([...messages]).to.have.length(1);
      expect(await profile()).to.include({ phone_verified: false });
    });

    it('counts simultaneous guesses', async () => {
      const { id, administrator, code } = await buildPhoneCode();
      me = administrator;
      await Promise.all(Array.from({ length: 8 }, () => verify(wrong(code))));
      const { triesLeft } = await (await testDeps()).db.manager.findOneByOrFail(PhoneCode, { id });
      expect(triesLeft).to.equal(0);
    });

    it('accepts no code after 10 minutes', async () => {
      const { administrator, code } = await buildPhoneCode();
      me = administrator;
      clock.advance(phoneCodeRules.lifetimeMs + 1_000);
      expectError(await verify(code), 'token_gone');
    });

    it('accepts only the newest code', async () => {
      const { id, administrator, code } = await buildPhoneCode();
      me = administrator;
      const { db, vault } = await testDeps();
      const later = new Date(Date.now() + phoneCodeRules.pauseMs + 1_000);
      await requestPhoneCode({ db, vault, phoneCodes: { isConfigured: true, perDay: 1_000_000 } }, me.id, later);
      clock.advance(phoneCodeRules.pauseMs + 2_000);
      const newest = await db.manager.findOneOrFail(PhoneCode, {
        where: { administratorId: me.id },
        order: { createdAt: 'DESC' },
      });
      expect(newest.id).to.not.equal(id);
      expectError(await verify(code), 'token_gone');
      expect((await verify(phoneCodeText(vault, newest.id, newest.keyId))).status).to.equal(200);
    });

    it('accepts no code for a former number, even if the number comes back', async () => {
      const { administrator, number, code } = await buildPhoneCode();
      me = administrator;
      await change({ phone: someNumber() });
      expectError(await verify(code), 'token_gone');
      await change({ phone: number });
      expectError(await verify(code), 'token_gone');
    });

    it('accepts no code of another administrator', async () => {
      const other = await buildPhoneCode();
      me = (await buildPhoneCode()).administrator;
      expectError(await verify(other.code), 'token_gone');
    });
  });
});

describe('the own account of a student', () => {
  it('changes the name with the fact of a correction, and the language', async () => {
    const club = await buildClub();
    const student = await buildStudent(club.id);
    const change = (body: object) => call('PATCH', '/v1/auth/session', { token: student.token, body });
    expect((await change({ name: ' Ada  Example' })).body.data).to.include({ name: 'Ada Example' });
    expect(await factTypes(club.id)).to.deep.equal(['student.updated']);
    expect((await change({ name: 'Ada Example', language: 'de' })).body.data).to.include({
      name: 'Ada Example',
      language: 'de',
    });
    expect(await factTypes(club.id), 'the same name').to.deep.equal(['student.updated']);
    await eachCase(
      [{}, { name: 'see www.example.com' }, { name: ' ' }, { language: 'xx', name: 'Other' }],
      async (body) => expectError(await change(body), 'invalid_request'),
    );
    expect((await call('GET', '/v1/auth/session', { token: student.token })).body.data.name).to.equal('Ada Example');
  });

  it('limits the changes to 20 an hour', async () => {
    const club = await buildClub();
    const student = await buildStudent(club.id);
    const change = (name: string) => call('PATCH', '/v1/auth/session', { token: student.token, body: { name } });
    for (let count = 1; count <= 20; count++) expect((await change(`Ada ${count}`)).status).to.equal(200);
    expectError(await change('Ada'), 'rate_limited');
  });
});
