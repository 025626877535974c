/** Tests the life of a fact and of a wake. */
import { expect } from 'chai';
import { newId, noClub } from '../../../platform/core/ids.ts';
import { recordFact } from '../../../platform/engine/facts.ts';
import { deferFact, removeFacts } from '../../../platform/engine/facts.ts';
import { deferWake, removeWake } from '../../../platform/engine/wakes.ts';
import { useRelayQueue, wakeOf } from '../../toolkit/drive/relay-queue.ts';

const [clubA, clubB] = [newId(), newId()];

describe('facts (ENG-4)', () => {
  const { source, transaction, notifications, everyFact, record, endPauses, letLeasesRunOut, expectEnd } =
    useRelayQueue();

  it('are written in the transaction of the change', async () => {
    const [studentId, subjectId] = [newId(), newId()];
    const id = await transaction(async (tx) => {
      const written = await recordFact(tx, {
        clubId: clubA,
        type: 'student.updated',
        studentId,
        subjectId,
        details: { previousCohortId: clubB },
        occurredAt: new Date(5),
      });
      await recordFact(tx, { clubId: clubA, type: 'student.removed', studentId, occurredAt: new Date(6) });
      expect(notifications()).to.equal(0);
      return written;
    });
    expect(notifications()).to.equal(1);
    const [first, second] = await everyFact();
    expect(first).to.deep.equal({
      id,
      clubId: clubA,
      type: 'student.updated',
      studentId,
      subjectId,
      details: { previousCohortId: clubB },
      occurredAt: new Date(5),
      priority: 1,
      traceparent: null,
    });
    expect(second).to.include({ type: 'student.removed', subjectId: null, details: null });
  });

  it('are not written and send no NOTIFY if the transaction is rolled back', async () => {
    await transaction(async (tx) => {
      await recordFact(tx, { clubId: clubA, type: 'student.updated', studentId: newId(), occurredAt: new Date() });
      throw new Error('changed our mind');
    }).catch((error: Error) => expect(error.message).to.equal('changed our mind'));
    expect(await everyFact()).to.deep.equal([]);
    expect(notifications()).to.equal(0);
  });

  it('of a dead relay are claimed again after the lease of 30 s', async () => {
    const id = await record(clubA);
    await expectEnd('lease_until', 'facts', 30, async () => expect(await everyFact()).to.have.length(1));
    expect(await everyFact()).to.deep.equal([]);
    await letLeasesRunOut('facts');
    expect((await everyFact()).map((fact) => fact.id)).to.deep.equal([id]);
  });

  it('are removed after they were handled', async () => {
    const [otherId, handledId] = [await record(clubA), await record(clubB)];
    await everyFact();
    await removeFacts(source(), [{ clubId: clubB, id: handledId }]);
    expect(await source().query(`SELECT id FROM facts`)).to.deep.equal([{ id: otherId }]);
  });

  it('are due again after 5 s, and each failure doubles this wait up to 10 minutes', async () => {
    const id = await record(clubA);
    for (const [index, seconds] of [5, 10, 20, 40, 80, 160, 320, 600, 600].entries()) {
      expect(await everyFact(), `before failure ${index + 1}`).to.have.length(1);
      await expectEnd('due_at', 'facts', seconds, () => deferFact(source(), { clubId: clubA, id }, 'its own'));
      expect(await everyFact()).to.deep.equal([]);
      await endPauses('facts');
    }
    expect(await source().query(`SELECT attempt_count AS count FROM facts`)).to.deep.equal([{ count: 9 }]);
  });

  it('are postponed without an error after the maximum number of failures', async () => {
    const id = await record(clubA);
    await source().query(`UPDATE facts SET attempt_count = 32767`);
    await expectEnd('due_at', 'facts', 600, () => deferFact(source(), { clubId: clubA, id }, 'its own'));
  });

  it('are due again after 5 s while the engine is unavailable', async () => {
    const id = await record(clubA);
    for (let failures = 1; failures <= 3; failures++)
      await expectEnd('due_at', 'facts', 5, () => deferFact(source(), { clubId: clubA, id }, 'away'));
    expect(await source().query(`SELECT attempt_count AS count FROM facts`)).to.deep.equal([{ count: 0 }]);
  });
});

describe('wakes (ENG-3)', () => {
  const { source, notifications, someWakes, wakeNow, endPauses, letLeasesRunOut, expectEnd } = useRelayQueue();
  const rows = () =>
    source().query<{ workflowId: string; seq: string; raised: boolean }[]>(
      `SELECT workflow_id AS "workflowId", seq, raised FROM wakes ORDER BY workflow_id`,
    );
  const claimOne = async () => {
    const [claimed] = await someWakes(1);
    if (!claimed) throw new Error('No wake was claimed.');
    return claimed;
  };

  it('contain the workflow id and the search attributes of their subject', async () => {
    const id = newId();
    await wakeNow(wakeOf(id, clubA));
    const [row] = await rows();
    const claimed = await someWakes(10);
    expect(claimed[0]?.recordedAt).to.be.an.instanceOf(Date);
    expect(claimed).to.deep.equal([
      {
        workflowId: `webhook-delivery/${id}`,
        seq: row?.seq,
        raised: false,
        workflowType: 'webhookDelivery',
        subjectId: id,
        clubId: clubA,
        attributes: { EventType: 'student.created' },
        priority: 1,
        recordedAt: claimed[0]?.recordedAt,
        traceparent: null,
      },
    ]);
    expect(notifications()).to.equal(1);
  });

  it('of one workflow share a row until the relay has sent the row', async () => {
    const [id, other] = [newId(), newId()];
    await wakeNow(wakeOf(id, clubA));
    const [first] = await rows();
    await wakeNow(wakeOf(id, clubA), wakeOf(other, clubA));
    const raised = Object.fromEntries((await rows()).map((row) => [row.workflowId, row.raised]));
    expect(raised).to.deep.equal({ [`webhook-delivery/${id}`]: true, [`webhook-delivery/${other}`]: false });
    const second = (await rows()).find((row) => row.raised);
    expect(Number(second?.seq)).to.be.greaterThan(Number(first?.seq));
  });

  it('are not removed by a late relay that sent an earlier wake', async () => {
    const id = newId();
    await wakeNow(wakeOf(id, clubA));
    const late = await claimOne();
    await letLeasesRunOut('wakes');
    await removeWake(source(), await claimOne());
    await wakeNow(wakeOf(id, clubA));
    await removeWake(source(), late);
    expect((await rows()).map(({ workflowId }) => workflowId)).to.deep.equal([`webhook-delivery/${id}`]);
  });

  it('have the priority of their type or row, and never become less urgent', async () => {
    const [mail, answer, other] = [newId(), newId(), newId()];
    const mailWake = { workflowType: 'transactionalMail', subjectId: mail, clubId: clubA, attributes: {} } as const;
    await wakeNow({ ...mailWake, priority: 2 }, wakeOf(other, clubA), {
      ...mailWake,
      workflowType: 'agentAnswer',
      subjectId: answer,
    });
    const priorities = async () => {
      const found = await source().query<{ id: string; priority: number }[]>(
        `SELECT subject_id AS id, priority FROM wakes`,
      );
      return Object.fromEntries(found.map(({ id, priority }) => [id, priority]));
    };
    expect(await priorities()).to.deep.equal({ [mail]: 2, [other]: 1, [answer]: 0 });
    await wakeNow({ ...mailWake, priority: 0 });
    await wakeNow({ ...mailWake, priority: 2 });
    expect(await priorities()).to.deep.include({ [mail]: 0 });
  });

  it('send no NOTIFY for an empty list', async () => {
    await wakeNow();
    expect(await rows()).to.deep.equal([]);
    expect(notifications()).to.equal(0);
  });

  it('without a club are claimed as if they belonged to one club', async () => {
    await wakeNow(wakeOf(newId(), null));
    expect((await someWakes(1))[0]?.clubId).to.equal(noClub);
  });

  it('cause no deadlock if two transactions request them in opposite order', async () => {
    const ids = Array.from({ length: 20 }, newId);
    for (let round = 0; round < 5; round++) {
      await Promise.all([
        wakeNow(...ids.map((id) => wakeOf(id, clubA))),
        wakeNow(...ids.toReversed().map((id) => wakeOf(id, clubA))),
      ]);
    }
    expect((await rows()).map(({ raised }) => raised)).to.deep.equal(Array.from({ length: 20 }, () => true));
  });

  it('are removed after they were sent', async () => {
    await wakeNow(wakeOf(newId(), clubA));
    await removeWake(source(), await claimOne());
    expect(await rows()).to.deep.equal([]);
  });

  it('remain if they are requested again during the sending', async () => {
    const id = newId();
    await wakeNow(wakeOf(id, clubA));
    const claimed = await claimOne();
    await wakeNow(wakeOf(id, clubA));
    expect(await someWakes(1)).to.deep.equal([]);
    await removeWake(source(), claimed);
    expect((await someWakes(1)).map(({ raised }) => raised)).to.deep.equal([true]);
  });

  it('are due again 5 s after a failed sending, then after 10 s', async () => {
    await wakeNow(wakeOf(newId(), clubA));
    for (const seconds of [5, 10]) {
      const claimed = await claimOne();
      await expectEnd('due_at', 'wakes', seconds, () => deferWake(source(), claimed, 'its own'));
      expect(await someWakes(1)).to.deep.equal([]);
      await endPauses('wakes');
    }
    expect(await someWakes(1)).to.have.length(1);
  });

  it('that failed are due immediately when they are requested again', async () => {
    const id = newId();
    await wakeNow(wakeOf(id, clubA));
    await deferWake(source(), await claimOne(), 'its own');
    await wakeNow(wakeOf(id, clubA));
    expect(await someWakes(1)).to.have.length(1);
  });
});
