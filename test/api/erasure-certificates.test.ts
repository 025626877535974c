import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { certificateAddress } from '../../domain/erasures/certificate-address.ts';
import { rotateSigningKey } from '../../domain/erasures/certificates/signing-keys.ts';
import { fanOut } from '../../domain/webhooks/events/fan-out.ts';
import type { Erasure } from '../../entities/erasures/erasure.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { verifiedPayload } from '../toolkit/assert/erasure-signature.ts';
import { readPdf } from '../toolkit/assert/pdf.ts';
import { buildClub, buildStudent, type TestClub } from '../toolkit/builders/clubs.ts';
import { buildErasure, underWay } from '../toolkit/builders/erasures.ts';
import { buildEndpoint, factAbout } from '../toolkit/builders/webhooks.ts';
import { call, clock, expectError, type Call } from '../toolkit/drive/api.ts';
import { testDatabase, testDeps } from '../toolkit/stack/database.ts';

const dayMs = 86_400_000;
const addressOf = async ({ id }: Pick<Erasure, 'id'>) => {
  const { vault, publicUrl } = await testDeps();
  return new URL(certificateAddress(vault, publicUrl, id)).pathname;
};
const read = async (erasure: Pick<Erasure, 'id'>, options: Call = {}) => call('GET', await addressOf(erasure), options);
const keys = async () => (await call('GET', '/.well-known/erasure-keys.json')).body;
const asPdf = { headers: { accept: 'application/pdf' } };

/** Removes a student with an endpoint that receives the event, and returns the delivery. */
async function removeStudent(club: TestClub) {
  const { db } = await testDeps();
  const endpoint = await buildEndpoint(club.id, 'https://93.184.216.34/hooks');
  const student = await buildStudent(club.id);
  const path = `/v1/clubs/${club.id}/students/${student.id}`;
  expect((await call('DELETE', path, { token: club.owner.token })).status).to.equal(204);
  const fact = factAbout({ clubId: club.id, studentId: student.id }, 'student.removed');
  const [delivery] = await fanOut(db, fact, new Date());
  if (!delivery) throw new Error('Fan-out created no delivery');
  return { student, endpoint, deliveryId: delivery.id, path: `${path}/erasure` };
}

const acknowledge = async (deliveryId: Id, at: string) =>
  (await testDatabase()).query(`UPDATE webhook_deliveries SET status = 'succeeded', completed_at = $2 WHERE id = $1`, [
    deliveryId,
    at,
  ]);
const complete = async (studentId: Id) =>
  (await testDatabase()).query(
    `UPDATE erasures SET status = 'completed', completed_at = requested_at, looks_at = NULL WHERE subject_id = $1`,
    [studentId],
  );

describe('GET /v1/erasures/{erasureToken}', () => {
  describe('200', () => {
    it('returns the certificate of a club with its ids, times and counts, and a signature over it', async () => {
      const clubId = newId();
      const erasure = await buildErasure({
        kind: 'club',
        subjectId: clubId,
        clubId,
        requestedBy: newId(),
        closedAt: new Date(),
        counts: { tables: { students: 1_203, courses: 4 }, buckets: { private: 17, public: 5 }, runs: 3 },
      });
      const { status, body, headers } = await read(erasure);
      expect([status, headers.get('cache-control')]).to.deep.equal([200, 'no-store']);
      const { publicUrl } = await testDeps();
      expect(body.data.certificate).to.deep.equal({
        format: 1,
        issuer: publicUrl,
        erasure_id: erasure.id,
        kind: 'club',
        subject_id: clubId,
        club_id: clubId,
        requested_by: erasure.requestedBy,
        requested_at: erasure.requestedAt.toISOString(),
        began_at: erasure.erasesAt.toISOString(),
        closed_at: erasure.closedAt?.toISOString(),
        completed_at: erasure.completedAt?.toISOString(),
        tables: [
          { table: 'courses', rows: 4 },
          { table: 'students', rows: 1_203 },
        ],
        buckets: [
          { bucket: 'private', objects: 17 },
          { bucket: 'public', objects: 5 },
        ],
        runs: 3,
      });
      expect(verifiedPayload(body.data.signature, await keys())).to.equal(JSON.stringify(body.data.certificate));
    });

    it('returns only the state of an erasure that is not completed', async () => {
      await eachCase(
        [
          ['planned', 'planned'],
          ['rows', 'running'],
        ] as const,
        async ([status, shown]) => {
          const erasure = await buildErasure({ ...underWay, status });
          const { body, headers } = await read(erasure);
          expect(body.data).to.deep.equal({
            kind: 'administrator',
            status: shown,
            requested_at: erasure.requestedAt.toISOString(),
            begins_at: erasure.erasesAt.toISOString(),
          });
          expect(headers.get('cache-control')).to.equal('no-store');
        },
      );
    });

    it('lists the receivers of a removed student', async () => {
      const { student, endpoint, deliveryId, path } = await removeStudent(await buildClub());
      await acknowledge(deliveryId, '2026-11-02T09:15:04Z');
      await complete(student.id);
      const [erasure] = await (
        await testDatabase()
      ).query<{ id: Id }[]>(`SELECT id FROM erasures WHERE subject_id = $1`, [student.id]);
      if (!erasure) throw new Error(`The removal recorded no erasure: ${path}`);
      const { body } = await read(erasure);
      expect(body.data.certificate.receivers).to.deep.equal([
        {
          endpoint_id: endpoint.id,
          delivery_id: deliveryId,
          status: 'succeeded',
          acknowledged_at: '2026-11-02T09:15:04.000Z',
        },
      ]);
    });

    it('verifies with the published key after a rotation, both the former and the new signature', async () => {
      const { db, vault } = await testDeps();
      const erasure = await buildErasure();
      const { signature: former } = (await read(erasure)).body.data;
      const kid = await rotateSigningKey(db, vault);
      const { signature } = (await read(erasure)).body.data;
      const published = await keys();
      expect(published.keys[0].kid).to.equal(kid);
      expect(signature).to.not.equal(former);
      expect(verifiedPayload(signature, published)).to.equal(verifiedPayload(former, published));
      expect(verifiedPayload(former, published)).to.contain(erasure.id);
    });

    it('has a signature that no changed bit of header or payload survives', async () => {
      const { signature } = (await read(await buildErasure())).body.data;
      const published = await keys();
      const [header = '', payload = '', mark = ''] = signature.split('.');
      for (let bit = 0; bit < 8 * Buffer.from(payload, 'base64url').length; bit += 37) {
        const bytes = Buffer.from(payload, 'base64url');
        bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        const altered = [header, bytes.toString('base64url'), mark].join('.');
        expect(verifiedPayload(altered, published), `bit ${bit}`).to.equal(undefined);
      }
      const otherHeader = Buffer.from(header, 'base64url').toString().replace('certificate', 'Certificate');
      const altered = [Buffer.from(otherHeader).toString('base64url'), payload, mark].join('.');
      expect(verifiedPayload(altered, published)).to.equal(undefined);
    });

    it('returns a PDF with each figure if the caller prefers it, or if the address ends with .pdf', async () => {
      const tables = Object.fromEntries(Array.from({ length: 130 }, (_, index) => [`table_${index}`, 70_001 + index]));
      const clubId = newId();
      const values = { kind: 'club', subjectId: clubId, clubId, closedAt: new Date() } as const;
      const erasure = await buildErasure({ ...values, counts: { tables, buckets: { private: 93_417 }, runs: 58_213 } });
      const answer = await read(erasure, asPdf);
      expect([answer.status, answer.headers.get('content-type')]).to.deep.equal([200, 'application/pdf']);
      expect(answer.headers.get('content-disposition')).to.equal(
        `inline; filename="certificate-of-erasure-${erasure.id}.pdf"`,
      );
      const { certificate, signature } = (await read(erasure)).body.data;
      const { pages, lines } = readPdf(answer.bytes);
      expect(pages[0]).to.deep.equal([595.28, 841.89]);
      const text = lines.join('\n');
      const digest = createHash('sha256').update(JSON.stringify(certificate)).digest('hex');
      const kid = JSON.parse(Buffer.from(signature.split('.')[0], 'base64url').toString()).kid as string;
      const times = [erasure.requestedAt, erasure.closedAt, erasure.completedAt].map(
        (at) => `${at?.toISOString().slice(0, 19).replace('T', ' ')} UTC`,
      );
      const sum = Object.values(tables).reduce((total, count) => total + count, 0);
      const figures = [
        erasure.id,
        clubId,
        ...times,
        ...Object.keys(tables),
        ...Object.values(tables),
        sum,
        93_417,
        58_213,
      ];
      for (const figure of [...figures, digest, kid]) expect(lines).to.include(String(figure));
      expect(text.replaceAll('\n', '')).to.contain(await addressOf(erasure));
      const again = await call('GET', `${await addressOf(erasure)}.pdf`);
      expect(again.bytes.equals(answer.bytes)).to.equal(true);
    });

    it('has a PDF in the language of the student’s club', async () => {
      const club = await buildClub();
      await (await testDatabase()).query(`UPDATE clubs SET language = 'de' WHERE id = $1`, [club.id]);
      const erasure = await buildErasure({ kind: 'student', clubId: club.id });
      const { bytes } = await read(erasure, asPdf);
      expect(readPdf(bytes).lines).to.include('Löschbescheinigung');
      expect(readPdf(bytes).lines).to.include('Kein Empfänger wollte über Löschungen unterrichtet werden.');
    });
  });

  describe('404', () => {
    it('answers an unknown token, a changed one and a text that is no token', async () => {
      const path = await addressOf(await buildErasure());
      const changed = path.slice(0, -2) + (path.at(-2) === 'A' ? 'B' : 'A') + (path.at(-1) ?? '');
      const unknown = await addressOf({ id: newId() });
      await eachCase([unknown, changed, `${path}A`, '/v1/erasures/x', `/v1/erasures/${newId()}`], async (other) =>
        expectError(await call('GET', other), 'not_found'),
      );
    });

    it('answers 400 days after the end of the erasure', async () => {
      const erasure = await buildErasure({ completedAt: new Date(clock.now().getTime() - 399 * dayMs) });
      expect((await read(erasure)).status).to.equal(200);
      clock.advance(dayMs);
      expectError(await read(erasure), 'not_found');
    });
  });

  it('refuses a PDF with 409 erasure_not_completed until the erasure is completed', async () => {
    const erasure = await buildErasure(underWay);
    expectError(await read(erasure, asPdf), 'erasure_not_completed');
    expectError(await call('GET', `${await addressOf(erasure)}.pdf`), 'erasure_not_completed');
  });

  it('can be called 60 times a minute from an IP address, then causes 429 (ERS-32)', async () => {
    const erasure = await buildErasure(underWay);
    const statuses: number[] = [];
    for (let tries = 0; tries < 60; tries++) statuses.push((await read(erasure, { ip: '203.0.113.77' })).status);
    expect(new Set(statuses)).to.deep.equal(new Set([200]));
    expectError(await read(erasure, { ip: '203.0.113.77' }), 'rate_limited');
    expect((await read(erasure)).status).to.equal(200);
  });
});

describe('GET /v1/clubs/{clubId}/students/{studentId}/erasure', () => {
  it('returns the state, the receivers as of now and the public address of the certificate', async () => {
    const club = await buildClub();
    const { student, deliveryId, path } = await removeStudent(club);
    const { status, body } = await call('GET', path, { token: club.owner.token });
    expect([status, body.data.status, body.data.student_id]).to.deep.equal([200, 'running', student.id]);
    expect(body.data.receivers[0].status).to.equal('pending');
    expect(body.data).to.not.have.property('completed_at');
    await acknowledge(deliveryId, '2026-11-02T09:15:04Z');
    await complete(student.id);
    const { data } = (await call('GET', path, { token: club.owner.token })).body;
    expect([data.status, data.receivers[0].acknowledged_at]).to.deep.equal(['completed', '2026-11-02T09:15:04.000Z']);
    const answer = await call('GET', new URL(data.certificate_url).pathname);
    expect(answer.body.data.certificate.subject_id).to.equal(student.id);
  });

  it('answers 404 for a student who was not removed, and for the removed student of another club', async () => {
    const club = await buildClub();
    const other = await removeStudent(await buildClub());
    const student = await buildStudent(club.id);
    await eachCase([student.id, other.student.id, newId()], async (id) =>
      expectError(
        await call('GET', `/v1/clubs/${club.id}/students/${id}/erasure`, { token: club.owner.token }),
        'not_found',
      ),
    );
  });
});

describe('GET /.well-known/erasure-keys.json', () => {
  it('returns only the public parts of the keys, and may be cached for five minutes', async () => {
    const { headers, body } = await call('GET', '/.well-known/erasure-keys.json');
    expect(headers.get('cache-control')).to.equal('public, max-age=300');
    for (const key of body.keys) {
      expect(Object.keys(key).toSorted()).to.deep.equal(['alg', 'crv', 'kid', 'kty', 'use', 'x']);
      expect(key).to.include({ kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', use: 'sig' });
    }
  });
});
