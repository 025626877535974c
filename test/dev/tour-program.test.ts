/** The tour scene in which a program calls with an API key, on the real stack. */
import { expect } from 'chai';
import { startApi, type RunningApi } from '../../api/server.ts';
import { programCalls } from '../../dev/tour/scenes/program.ts';
import { fanOut } from '../../domain/webhooks/events/fan-out.ts';
import { setScene } from '../../dev/tour/scene.ts';
import { buildAccessDelivery } from '../toolkit/builders/access.ts';
import { buildClub, buildStudent } from '../toolkit/builders/clubs.ts';
import { call, testConfig } from '../toolkit/drive/api.ts';
import type { FactToTell } from '../../platform/engine/facts.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { Id } from '../../platform/core/ids.ts';
import { until } from '../toolkit/drive/until.ts';
import { testDeps } from '../toolkit/stack/database.ts';

describe('dev/tour: a program calls', () => {
  let api: RunningApi;
  before(async () => {
    api = await startApi(await testConfig());
  });
  after(() => api.stop());

  it('makes a key, grants access once for two requests, and receives an event', async () => {
    const club = await buildClub();
    const student = await buildStudent(club.id);
    const delivery = await buildAccessDelivery(club.id);
    const lines: string[] = [];
    const environment = { MAILBOX_URL: 'http://127.0.0.1:9', API_PORT: String(api.port) };
    const scene = setScene({ environment, say: (line) => lines.push(line), receiver: undefined as never });
    const scenePlayed = programCalls(
      scene,
      { clubId: club.id, token: club.owner.token },
      { studentId: student.id, from: 23 },
    );
    await fanOutRevocation(club.id);
    await scenePlayed;

    const granted = lines.filter((line) => line === `   POST /v1/clubs/${club.id}/enrollments → 201`);
    expect(granted).to.have.length(2);
    const output = lines.join('\n');
    expect(output).to.include('the second answer is the first one again: Idempotent-Replayed: true');
    expect(output).to.include('number of accesses: 1');
    expect(output).to.match(
      /the audit log has one entry for both requests: api_key, grantEnrollment \(delivery_id, student_id\), \d{4}-/,
    );
    expect(output).to.match(
      /the access ends, and \d+ ms later the receiver has access\.revoked, with a valid signature/,
    );
    expect(output, 'the secret of the key').not.to.match(/clk_[0-9a-f]{8}_/);
    const list = `/v1/clubs/${club.id}/enrollments?student_id=${student.id}&delivery_id=${delivery.id}`;
    expect((await call('GET', list, { token: club.owner.token })).body.total).to.equal(1);
  });
});

/** Waits for the end of the access, and fans it out, as the relay of a worker does. */
async function fanOutRevocation(clubId: Id): Promise<void> {
  const { db } = await testDeps();
  const fact = await until('the end of the access', { timeoutMs: 30_000 }, () =>
    db.one<FactToTell>(
      sql`SELECT id, club_id AS "clubId", type, student_id AS "studentId", subject_id AS "subjectId", details, occurred_at AS "occurredAt"
            FROM facts WHERE club_id = ${clubId} AND type = 'access.revoked'`,
    ),
  );
  await fanOut(db, fact, new Date());
}
